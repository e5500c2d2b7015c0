import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LABELS } from '../../drivers/docker/container-config.ts';
import { docker } from '../../drivers/docker/setup/docker-cli.ts';
import type { OwnImage } from '../../drivers/docker/setup/own-images.ts';
import { unlessMissing } from '../../lib/unless-missing.ts';
import type { DataPart } from '../data-folder.ts';
import { type InstalledClient, installedClients } from '../install/installed-clients.ts';
import { thisMachine } from '../install/machine.ts';
import { findStatus, type Status } from '../status/find-status.ts';

/** What uninstalling removes. */
export interface Plan {
  readonly clients: readonly InstalledClient[];
  /** Ids of containers: those of persistent sessions, and what a crash left. */
  readonly containers: readonly string[];
  readonly images: readonly OwnImage[];
  readonly dataFolder: { readonly path: string; readonly sizeBytes: number; readonly parts: readonly DataPart[] };
}

export async function findPlan({ keepImages = false } = {}): Promise<{ plan: Plan; servers: Status['servers'] }> {
  const { servers, dataFolder, images = [] } = await findStatus();
  const plan = {
    clients: installedClients(thisMachine()),
    containers: await containersOf(dataFolder.path),
    images: keepImages ? [] : images,
    dataFolder,
  };
  return { plan, servers };
}

export function isEmpty({ clients, containers, images, dataFolder }: Plan): boolean {
  return clients.length + containers.length + images.length + dataFolder.parts.length === 0;
}

const ANSWER_MS = 5_000;

/** The containers of this installation; none if it has never run, or if no engine answers. */
async function containersOf(dataDir: string): Promise<string[]> {
  const installation = unlessMissing(() => readFileSync(join(dataDir, 'installation'), 'utf8'))?.trim();
  if (!installation) return [];
  const args = ['ps', '--all', '--quiet', '--filter', `label=${LABELS.installation}=${installation}`];
  const found = await docker(args, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined);
  return found?.exitCode === 0 ? found.stdout.split('\n').filter(Boolean) : [];
}
