import { constants, open, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, posix, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionResult } from '../../execution/result.ts';
import { makeFolder } from '../../lib/make-folder.ts';
import type { MountRequest } from '../../sessions/mounts.ts';
import { shownName, sizeText } from '../print.ts';
import { namedDisplays, picturesOf } from './displays.ts';

export type Made = Pick<ExecutionResult, 'artifacts' | 'displays'>;

/** Where files come from: a session here, or one of a server. */
export interface FileSource {
  stream(path: string): AsyncIterable<Uint8Array>;
}

/** Copies what a program made to a folder of the host and answers with the paths. What it only showed becomes `figure-1.png`, `display-2.html` and so on. */
export async function saveArtifacts(made: Made, files: FileSource, folder: string): Promise<string[]> {
  makeFolder(folder);
  const root = await realpath(folder);
  const saved: string[] = [];
  for (const { path } of made.artifacts) {
    if (await saveFile(await placeBelow(root, path), files.stream(path))) saved.push(join(folder, path));
  }
  const taken = new Set(made.artifacts.map(({ path }) => path));
  for (const { name, data } of namedDisplays(made.displays, taken)) {
    await save(await placeBelow(root, name), [data]);
    saved.push(join(folder, name));
  }
  return saved;
}

/** What lies in the sandbox alone: a file below a folder that was mounted is on the host already. */
export function withoutMounted(made: Made, mounts: readonly MountRequest[]): Made {
  const targets = mounts.map(({ target }) => target.replace(/\/+$/, ''));
  const isMounted = (path: string) => targets.some((target) => isBelow(posix.join('/workspace', path), target));
  return { displays: made.displays, artifacts: made.artifacts.filter(({ path }) => !isMounted(path)) };
}

/** What was made and went with the sandbox, and how to keep it the next time. */
export function unsavedText({ artifacts, displays }: Made): string | undefined {
  const pictures = picturesOf(displays).length;
  const parts = [
    ...artifacts.slice(0, 5).map(({ path, sizeBytes }) => `${shownName(path)} (${sizeText(sizeBytes)})`),
    ...(artifacts.length > 5 ? [`${artifacts.length - 5} more files`] : []),
    ...(pictures === 0 ? [] : [pictures === 1 ? 'a figure' : `${pictures} figures`]),
  ];
  if (parts.length === 0) return undefined;
  return `hotcell: made and not kept: ${parts.join(', ')}. Keep them with --save-artifacts <folder>.`;
}

/**
 * SECURITY: the names come from a sandbox. `../../.bashrc` must not leave the folder, and neither must a name below a link that lies in it.
 */
async function placeBelow(root: string, path: string): Promise<string> {
  const place = join(root, path);
  const folder = dirname(place);
  if (!isBelow(place, root)) throw outside(path);
  makeFolder(folder);
  const real = await realpath(folder);
  if (real !== root && !isBelow(real, root)) throw outside(path);
  return join(real, basename(place));
}

/** False where it went again before it could be copied: a later cell, or a process in the background, removed it. */
async function saveFile(place: string, content: AsyncIterable<Uint8Array>): Promise<boolean> {
  try {
    await save(place, content);
    return true;
  } catch (error) {
    if (!(error instanceof HotcellError) || error.code !== 'file_not_found') throw error;
    await rm(place, { force: true });
    return false;
  }
}

async function save(place: string, content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
  // Writing over a file of the same name is what running a program again asks for; writing through a link is not.
  const handle = await open(place, O_CREAT | O_NOFOLLOW | O_TRUNC | O_WRONLY);
  await pipeline(content, handle.createWriteStream());
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === sep ? sep : folder + sep);
}

function outside(path: string): HotcellError {
  return new HotcellError('bad_path', `an artifact has the path ${shownName(path)}, which leads out of its folder`, {
    remedy: 'It was not copied. Do not trust what this program makes.',
  });
}
