import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveRunDir } from '../../config/load.ts';
import { docker } from '../../drivers/docker/setup/docker-cli.ts';
import { requireTrusted } from '../../lib/own-folder.ts';
import { removeFromClient } from '../install/installed-clients.ts';
import type { OwnPart } from './own-data.ts';
import type { Plan } from './plan.ts';

export interface Removal {
  readonly what: string;
  /** Why it could not be removed. */
  readonly problem?: string;
}

/** Removes what the plan lists. What fails does not stop the rest. */
export async function remove({ clients, containers, images, dataFolder }: Plan): Promise<Removal[]> {
  const done: Removal[] = [];
  const step = async (what: string, work: () => Promise<unknown>) => {
    try {
      await work();
      done.push({ what });
    } catch (error) {
      done.push({ what, problem: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const client of clients) await step(`entry in ${client.title}`, () => removeFromClient(client));
  if (containers.length > 0) {
    await step(`${containers.length} containers`, () => engine('rm', '--force', '--volumes', ...containers));
  }
  for (const { name } of images) await step(`image ${name}`, () => engine('image', 'rm', name));
  if (dataFolder.parts.length > 0) await step(dataFolder.path, () => removeData(dataFolder));
  return done;
}

async function engine(...args: string[]): Promise<void> {
  const { exitCode, tail } = await docker(args);
  if (exitCode !== 0) throw new Error(tail.split('\n').at(-1) || `docker ${args[0]} failed`);
}

/**
 * SECURITY: removes only what Hotcell wrote (`own-data.ts`); and in a folder that other users can change, a path may
 * lead elsewhere.
 */
async function removeData({ path, parts }: Plan['dataFolder']): Promise<void> {
  requireTrusted(path);
  // The id last: with it, an uninstallation that was cut off can find the containers again.
  for (const part of parts) if (part.name !== 'installation') await removePart(join(path, part.name), part);
  await rm(join(path, 'installation'), { force: true });
  for (const folder of [resolveRunDir(path), path]) await removeIfEmpty(folder);
}

async function removePart(place: string, { entries }: OwnPart): Promise<void> {
  if (entries === undefined) return rm(place, { force: true });
  for (const entry of entries) await rm(join(place, entry), { recursive: true, force: true });
  await removeIfEmpty(place);
}

/** Others may have files in it. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}
