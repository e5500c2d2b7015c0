import { resolveDataDir } from '../../config/load.ts';
import { LABELS } from '../../drivers/docker/container-config.ts';
import { docker } from '../../drivers/docker/setup/docker-cli.ts';
import { type OwnImage, ownImages } from '../../drivers/docker/setup/own-images.ts';
import { foundInstallation } from '../../lib/installation.ts';
import { type InstalledClient, installedClients } from '../install/installed-clients.ts';
import { thisMachine } from '../install/machine.ts';
import { findOwnData, type OwnData } from './own-data.ts';

/** What uninstalling removes. */
export interface Plan {
  readonly clients: readonly InstalledClient[];
  /** Ids of containers: those of persistent sessions, and what a crash left. */
  readonly containers: readonly string[];
  readonly images: readonly OwnImage[];
  readonly dataFolder: OwnData;
}

export async function findPlan({ keepImages = false } = {}): Promise<Plan> {
  const path = resolveDataDir();
  const [containers, images] = await Promise.all([containersOf(path), keepImages ? [] : ownImages()]);
  return { clients: installedClients(thisMachine()), containers, images: images ?? [], dataFolder: findOwnData(path) };
}

export function isEmpty({ clients, containers, images, dataFolder }: Plan): boolean {
  return clients.length + containers.length + images.length + dataFolder.parts.length === 0;
}

const ANSWER_MS = 5_000;

/** The containers of this installation; none if it has never run, or if no engine answers. */
async function containersOf(dataDir: string): Promise<string[]> {
  const installation = foundInstallation(dataDir);
  if (installation === undefined) return [];
  const args = ['ps', '--all', '--quiet', '--filter', `label=${LABELS.installation}=${installation}`];
  const found = await docker(args, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined);
  return found?.exitCode === 0 ? found.stdout.split('\n').filter(Boolean) : [];
}
