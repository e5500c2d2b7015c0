import { deflateRawSync } from 'node:zlib';
import { type BootstrapProgram, bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { type GuestFile, guestFiles } from '../../guest/guest-files.ts';

/** How the guest gets into a container: a command that any Python runs, and the bytes that it reads first. What is added to the command are arguments of the guest. */
export interface GuestBundle {
  readonly command: readonly string[];
  readonly bytes: Buffer;
}

export interface BundleParts {
  readonly files?: readonly GuestFile[];
  /** The byte code of the files (guest-code.ts). Without it, or with that of another Python, the guest is compiled from its sources. */
  readonly code?: Buffer;
  /** What is done with the files inside; by default the guest is started. */
  readonly program?: Extract<BootstrapProgram, 'from_memory' | 'compile_guest'>;
}

/** The guest of this installation, packed. */
export function guestBundle(parts: BundleParts = {}): GuestBundle {
  const { files = guestFiles(), code = Buffer.alloc(0), program = 'from_memory' } = parts;
  return {
    command: ['python3', '-I', '-c', bootstrapProgram('take_bundle')],
    bytes: Buffer.concat([Buffer.from(bootstrapProgram(program)), ...packed(files), code].flatMap(withLength)),
  };
}

/** The first two arguments of `serve` in guest/bootstrap. Each file is deflated by itself: most sessions need few of them. */
function packed(files: readonly GuestFile[]): [index: Buffer, blob: Buffer] {
  const index: Record<string, [start: number, length: number]> = {};
  const blob: Buffer[] = [];
  let end = 0;
  for (const { path, content } of files) {
    const deflated = deflateRawSync(content);
    index[path] = [end, deflated.length];
    blob.push(deflated);
    end += deflated.length;
  }
  return [Buffer.from(JSON.stringify(index)), Buffer.concat(blob)];
}

function withLength(part: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return [length, part];
}
