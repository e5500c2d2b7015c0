import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Reaching } from './dial.ts';
import { fetchFile, fetchPage } from './fetch-page.ts';
import { linksIn } from './linked-hosts.ts';
import type { PythonRegistries } from './python-registries.ts';
import { isFolder, type Registry } from './registry.ts';

/** A file that Hotcell itself needs of a registry. */
export interface WantedFile {
  readonly project: string;
  /** Whether a file of this name may be it. */
  readonly isNamed: (name: string) => boolean;
  /** Whether it is. SECURITY: by its hash, which we have pinned; the registry's word does not count. */
  readonly isIt: (content: Buffer) => boolean;
  readonly mostBytes: number;
}

/** Looks for a file of a project of Python in the folders of this host, then in its indexes. Undefined if none has it. */
export async function projectFile(
  { index, extraIndexes, findLinks }: PythonRegistries,
  wanted: WantedFile,
  reaching: Reaching,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const places = [...findLinks, ...(index === undefined ? [] : [index]), ...extraIndexes];
  for (const place of places) {
    const found = isFolder(place)
      ? await inFolder(place.folder, wanted)
      : await inIndex(place, wanted, reaching, signal).catch(() => undefined);
    if (found !== undefined) return found;
    signal.throwIfAborted();
  }
  return undefined;
}

async function inFolder(
  folder: string,
  { project, isNamed, isIt, mostBytes }: WantedFile,
): Promise<Buffer | undefined> {
  // A flat folder of files, or one that is laid out as an index.
  for (const place of [folder, join(folder, project)]) {
    for (const name of (await readdir(place).catch(() => [])).filter(isNamed)) {
      const path = join(place, name);
      const found = await stat(path).catch(() => undefined);
      if (found?.isFile() !== true || found.size > mostBytes) continue;
      const content = await readFile(path);
      if (isIt(content)) return content;
    }
  }
  return undefined;
}

async function inIndex(
  registry: Registry,
  { project, isNamed, isIt, mostBytes }: WantedFile,
  reaching: Reaching,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const page = await fetchPage(registry, `${project}/`, reaching, signal);
  if (page === undefined) return undefined;
  const { isPrivate } = page;
  for (const link of linksIn(page.text)) {
    if (!URL.canParse(link, page.urls.at(-1)!)) continue;
    const url = new URL(link, page.urls.at(-1)!);
    if (!isNamed(basename(url.pathname))) continue;
    const content = await fetchFile({ registry, url: url.href, isPrivate }, mostBytes, reaching, signal);
    if (content !== undefined && isIt(content)) return content;
  }
  return undefined;
}
