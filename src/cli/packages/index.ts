import { existsSync } from 'node:fs';
import { loadConfig, resolveDataDir, resolveRunDir } from '../../config/load.ts';
import { sizeText } from '../../lib/units.ts';
import { packagesFolder } from '../../packages/open-installer.ts';
import type { StoreLimits } from '../../packages/store/evictions.ts';
import { pruneStore } from '../../packages/store/prune.ts';
import { type ListedLayer, listLayers, removeLeftovers, type StoreUsers } from '../../packages/store/stored-layers.ts';
import { createFileRegistry } from '../../sessions/file-registry.ts';
import { becomeServer } from '../../sessions/server.ts';
import { ownFacts } from '../../sessions/server-facts.ts';
import { standardOutputs } from '../output.ts';
import { shownName } from '../print.ts';

/** A set of packages, as it is shown. */
interface ShownPackages {
  readonly owner: string;
  readonly manager: string;
  readonly packages: readonly string[];
  readonly files: number;
  readonly bytes: number;
  readonly made_at: string;
  readonly last_used_at: string;
  readonly in_use: boolean;
}

export async function listPackages(flags: { json?: boolean }): Promise<void> {
  const found = (await stored()).map(shown);
  const { stdout, stderr } = standardOutputs();
  if (flags.json) return stdout.json(found);
  if (found.length === 0) return stderr.say('hotcell: no packages are kept.');
  for (const layer of found) await stdout.say(lineOf(layer));
  await stderr.say(
    `${found.length} kept, ${sizeText(total(found))}. Remove them with \`hotcell packages prune --all\`.`,
  );
}

export async function prunePackages({ all = false, json }: { all?: boolean; json?: boolean }): Promise<void> {
  const { packageBytes, packageBytesPerOwner } = loadConfig();
  const limits = all ? { ownerBytes: 0, bytes: 0 } : { ownerBytes: packageBytesPerOwner, bytes: packageBytes };
  const gone = (await prune(limits)).map(shown);
  const { stdout } = standardOutputs();
  if (json) return stdout.json(gone);
  await stdout.say(gone.length === 0 ? 'Nothing to remove.' : `Removed ${gone.length}, ${sizeText(total(gone))}.`);
}

/** Prunes as a server: others would delete what a process is removing that does not count as alive, even a layer that it is about to put back. */
async function prune(limits: StoreLimits): Promise<ListedLayer[]> {
  const dataDir = resolveDataDir();
  const root = packagesFolder(dataDir);
  if (!existsSync(root)) return [];
  const folders = { dataDir, runRoot: resolveRunDir(dataDir) };
  const server = await becomeServer(folders, createFileRegistry(folders), () => ownFacts(0, { command: 'packages' }));
  const { serverId, isServerAlive } = server.host;
  try {
    return await pruneStore(root, { limits, serverId, isServerAlive, isSessionKept: server.records.has });
  } finally {
    await server.release();
  }
}

async function stored(): Promise<ListedLayer[]> {
  const dataDir = resolveDataDir();
  const root = packagesFolder(dataDir);
  if (!existsSync(root)) return [];
  await removeLeftovers(root, usersOf(dataDir)); // what a server that was killed had counts as in use otherwise
  return listLayers(root);
}

function usersOf(dataDir: string): StoreUsers {
  const { isServerAlive, records } = createFileRegistry({ dataDir, runRoot: resolveRunDir(dataDir) });
  return { isServerAlive, isSessionKept: records.has };
}

function shown({
  owner,
  manager,
  packages,
  files,
  occupiedBytes,
  madeAt,
  usedAt,
  isInUse,
}: ListedLayer): ShownPackages {
  return {
    ...{ owner, manager, files, bytes: occupiedBytes },
    packages: packages.map(({ name, version }) => `${name}==${version}`),
    made_at: new Date(madeAt).toISOString(),
    last_used_at: new Date(usedAt).toISOString(),
    in_use: isInUse,
  };
}

const SHOWN_PACKAGES = 6;

function lineOf({ owner, manager, packages, bytes, last_used_at, in_use }: ShownPackages): string {
  const more = packages.length > SHOWN_PACKAGES ? ` and ${packages.length - SHOWN_PACKAGES} more` : '';
  const names = packages.slice(0, SHOWN_PACKAGES).map(shownName).join(', ');
  const use = in_use ? 'in use' : `used ${last_used_at}`;
  return `${manager}  ${names}${more}  ${sizeText(bytes)}  ${shownName(owner)}  ${use}`;
}

function total(found: readonly ShownPackages[]): number {
  return found.reduce((sum, { bytes }) => sum + bytes, 0);
}
