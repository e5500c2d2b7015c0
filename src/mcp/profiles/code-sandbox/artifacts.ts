import { posix } from 'node:path';
import * as z from 'zod';
import type { ManagedSession } from '../../../directory/directory.ts';
import { mediaTypeOf } from '../../../lib/media-type.ts';
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

export async function filesOf(managed: ManagedSession, links: FileLinks): Promise<Artifact[]> {
  const { entries } = await managed.session.files.list('.', { recursive: true, limit: MOST_FILES });
  const files = entries.filter(({ kind }) => kind === 'file');
  return Promise.all(files.map((file) => artifactOf(managed, file, links)));
}
