import { posix } from 'node:path';
import * as z from 'zod';
import type { ManagedSession } from '../../../directory/directory.ts';
import { firstFitting } from '../../../lib/first-fitting.ts';
import { mediaTypeOf } from '../../../lib/media-type.ts';
import type { ToolCall } from '../../define-tool.ts';
import type { FileLinks } from '../../deps.ts';

/** Path of the session's folder, in the sandbox and in every reply. */
export const DATA_FOLDER = '/mnt/data';

export const artifact = z.object({
  path: z.string(),
  filename: z.string(),
  size_bytes: z.number().int(),
  mime_type: z.string(),
  download_url: z.string().nullable(),
});
export type Artifact = z.infer<typeof artifact>;

/** Maximum of listed files, equal to the guest's limit for one listing. */
const MOST_FILES = 5_000;

export async function artifactOf(
  managed: ManagedSession,
  { path, sizeBytes }: { path: string; sizeBytes: number },
  links: FileLinks,
): Promise<Artifact> {
  return {
    path: `${DATA_FOLDER}/${path}`,
    filename: posix.basename(path),
    size_bytes: sizeBytes,
    mime_type: mediaTypeOf(path),
    download_url: (await links.urlFor(managed.uniqueId, path, managed.id)) ?? null,
  };
}

export async function filesOf(managed: ManagedSession, { deps, signal, turn }: ListingCall): Promise<Artifact[]> {
  const { entries } = await managed.session.files.list('.', { recursive: true, limit: MOST_FILES, signal });
  const files = namable(entries.filter(({ kind }) => kind === 'file'));
  await turn(files.reduce((chars, { path }) => chars + path.length, 0));
  return Promise.all(files.map((file) => artifactOf(managed, file, deps.links)));
}

type ListingCall = Pick<ToolCall, 'deps' | 'signal' | 'turn'>;

/** SECURITY: limits the total length of the names, which a program chooses; each is in a reply several times. */
export function namable<T extends { readonly path: string }>(files: readonly T[]): readonly T[] {
  return firstFitting(files, NAME_CHARS, ({ path }) => path.length);
}

const NAME_CHARS = 100_000;
