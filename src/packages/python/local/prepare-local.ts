import * as z from 'zod';
import type { LikeSandbox } from '../../builder/open-builder.ts';
import { contentKey } from '../../content-key.ts';
import type { LayerUse } from '../../store/layer-store.ts';
import { storeLayer } from '../../store-layer.ts';
import { uvTool } from '../../tools/uv-tool.ts';
import type { Watching, Workshop } from '../../workshop.ts';
import type { PythonBase } from '../described-python.ts';
import { offlineVariables } from '../uv-arguments.ts';
import { buildLocal } from './build-local.ts';
import { buildRequirements } from './build-requirements.ts';
import type { LocalSource } from './read-local.ts';
import type { LocalFacts } from './stub-wheel.ts';

/** A package of a workspace that is in the store. */
export interface PreparedLocal {
  readonly key: string;
  readonly facts: LocalFacts;
  readonly extras: string;
  readonly reused: boolean;
}

export interface LocalWork {
  readonly like: LikeSandbox;
  /** As `imageOf`. */
  readonly image: string | undefined;
  readonly base: PythonBase;
  readonly source: LocalSource;
  /** Prepares the packages with which a folder is built. Returns the keys of their layers. */
  readonly prepareTools: (requirements: readonly string[]) => Promise<readonly string[]>;
}

const factsSchema = z.object({
  name: z.string(),
  version: z.string(),
  requires: z.array(z.string()),
  requiresPython: z
    .string()
    .optional()
    .transform((text) => text),
  extras: z.array(z.string()),
});

/** Prepares a wheel or folder of a workspace: a layer with that package alone, found by its contents. */
export async function prepareLocal(shop: Workshop, work: LocalWork, watching: Watching): Promise<PreparedLocal> {
  const { like, image, base, source } = work;
  const { signal, onProgress } = watching;
  const key = contentKey(['local', 1, base.key, source.digest, ...(image === undefined ? [] : [image])]);
  const { extras, text } = source.wanted;
  const known = (await shop.layers.find(like.owner, key)) && (await knownFacts());
  if (known !== undefined) return { key, facts: known, extras, reused: true };
  onProgress?.(`building ${text}`);
  const pyproject = source.files.get('pyproject.toml')?.toString('utf8');
  const tools = source.isWheel ? [] : await work.prepareTools(buildRequirements(pyproject));
  const uses = await useAll(tools);
  try {
    await using opened = await shop.open({ ...like, network: undefined, folders: [] }, signal);
    const { builder } = opened;
    await builder.add(await uvTool(shop.root, base, shop.registries, signal));
    for (const { tree } of uses) await builder.add({ name: 'build requirements', tree });
    const options = { environment: offlineVariables(), signal, onLine: onProgress };
    const { facts, packed } = await buildLocal(builder, { base, source, mostBytes: shop.layerLimits.bytes }, options);
    await shop.locks.keep(like.owner, `local-${key}`, JSON.stringify(facts));
    const layer = {
      owner: like.owner,
      key,
      manager: 'pip' as const,
      packages: [{ name: facts.name, version: facts.version }],
    };
    await storeLayer(shop, layer, async () => packed, signal);
    return { key, facts, extras, reused: false };
  } finally {
    await Promise.all(uses.map((use) => use.release()));
  }

  async function knownFacts(): Promise<LocalFacts | undefined> {
    try {
      return factsSchema.parse(JSON.parse((await shop.locks.find(like.owner, `local-${key}`)) ?? '')) as LocalFacts;
    } catch {
      return undefined;
    }
  }

  async function useAll(keys: readonly string[]): Promise<LayerUse[]> {
    const found = await Promise.all(keys.map((one) => shop.layers.use(like.owner, one)));
    return found.filter((use) => use !== undefined);
  }
}
