import { resolveDataDir, resolveRunDir } from '../../config/load.ts';
import { type OwnImage, ownImages } from '../../drivers/docker/setup/own-images.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { createFileRegistry } from '../../sessions/file-registry.ts';
import type { ServerFacts } from '../../sessions/server-facts.ts';
import { type DataPart, dataParts } from '../data-folder.ts';
import { persistentSessions, type ShownSession } from '../sessions/index.ts';

/** What runs here and what Hotcell keeps here, as `--json` prints it. */
export interface Status {
  readonly version: string;
  readonly servers: readonly ServerFacts[];
  readonly persistentSessions: readonly ShownSession[];
  readonly dataFolder: { readonly path: string; readonly sizeBytes: number; readonly parts: readonly DataPart[] };
  /** Absent if no engine answers. */
  readonly images?: readonly OwnImage[];
}

export async function findStatus(): Promise<Status> {
  const path = resolveDataDir();
  const registry = createFileRegistry({ dataDir: path, runRoot: resolveRunDir(path) });
  const [servers, sessions, images] = await Promise.all([registry.servers(), persistentSessions(), ownImages()]);
  const parts = dataParts(path);
  return {
    version: packageVersion(),
    servers: servers.toSorted((a, b) => a.startedAt.localeCompare(b.startedAt)),
    persistentSessions: sessions,
    dataFolder: { path, sizeBytes: parts.reduce((total, part) => total + part.sizeBytes, 0), parts },
    ...(images === undefined ? {} : { images }),
  };
}
