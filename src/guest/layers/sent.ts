import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { hookFiles } from './hooks.ts';
import { foldersOf, INSTALLER, INSTALLER_PROGRAMS, installerFiles } from './installer-files.ts';
import { type SharedLink, sharedLinks } from './links.ts';
import { type LayerEntry, layerPieces } from './tree.ts';

const PIECE_BYTES = 65_536;

/**
 * The bytes of `layer.write` (docs/guest-protocol.md, section 8a): the layer itself, then the hooks and the links that
 * all layers share.
 */
export async function* layerBytes(
  name: string,
  tree: string,
  { hasInstaller }: { hasInstaller: boolean },
): AsyncGenerator<Buffer> {
  const gathered = gather();
  const links: SharedLink[] = [];
  for await (const entries of layerPieces(tree)) {
    links.push(...sharedLinks(name, entries, { hasInstaller }));
    for (const entry of entries) {
      const { kind, path } = entry;
      yield* gathered.add(head({ ...described(entry), kind, path: `${name}/${path}` }));
      if (entry.kind === 'file')
        for await (const piece of contentOf(join(tree, path), entry.size)) yield* gathered.add(piece);
    }
  }
  for (const piece of hookPieces()) yield* gathered.add(piece);
  for (const { path, target } of links) yield* gathered.add(head({ kind: 'link', path, target }));
  yield* gathered.rest();
}

/** The same for the layer with our installer. */
export async function* installerBytes(): AsyncGenerator<Buffer> {
  const gathered = gather();
  const files = installerFiles();
  for (const path of foldersOf(files)) yield* gathered.add(head({ kind: 'folder', path: `${INSTALLER}/${path}` }));
  for (const { path, text, isExecutable: executable } of files)
    for (const piece of filePieces(`${INSTALLER}/${path}`, text, { executable })) yield* gathered.add(piece);
  for (const piece of hookPieces()) yield* gathered.add(piece);
  for (const name of INSTALLER_PROGRAMS)
    yield* gathered.add(head({ kind: 'link', path: `bin/${name}`, target: `../${INSTALLER}/bin/${name}` }));
  yield* gathered.rest();
}

function hookPieces(): Buffer[] {
  return Object.entries(hookFiles()).flatMap(([file, text]) => filePieces(`hooks/${file}`, text));
}

function filePieces(path: string, text: string, more: object = {}): Buffer[] {
  const content = Buffer.from(text);
  return [head({ kind: 'file', path, size: content.length, ...more }), content];
}

function described(entry: LayerEntry): object {
  if (entry.kind === 'link') return { target: entry.target };
  return entry.kind === 'file' ? { size: entry.size, executable: entry.isExecutable } : {};
}

function head(value: object): Buffer {
  const text = Buffer.from(JSON.stringify(value));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

/** Exactly `size` bytes, as the head has announced. */
async function* contentOf(path: string, size: number): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    for (let position = 0; position < size; ) {
      const { bytesRead, buffer } = await file.read(
        Buffer.alloc(Math.min(PIECE_BYTES, size - position)),
        0,
        null,
        position,
      );
      if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Makes few large pieces of many small ones: each piece is a frame. */
function gather() {
  let held: Buffer[] = [];
  let bytes = 0;
  function* rest(): Generator<Buffer> {
    if (bytes > 0) yield Buffer.concat(held);
    held = [];
    bytes = 0;
  }
  return {
    *add(piece: Buffer): Generator<Buffer> {
      held.push(piece);
      bytes += piece.length;
      if (bytes >= PIECE_BYTES) yield* rest();
    },
    rest,
  };
}
