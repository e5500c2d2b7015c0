import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { NpmSettings } from '../../registries/npm-settings.ts';
import { WORKSPACE } from '../../sandbox/spec.ts';
import { loopbackVariables } from '../builder/loopback-registries.ts';
import { imageOf, type LikeSandbox, type OpenedBuilder } from '../builder/open-builder.ts';
import { contentKey } from '../content-key.ts';
import type { LayerPlan } from '../prepare.ts';
import { parseBase } from '../python/described-python.ts';
import { describePython } from '../python/python-builders.ts';
import type { CheckedRequest } from '../request/package-request.ts';
import { npmTool } from '../tools/npm-tool.ts';
import type { Watching, Workshop } from '../workshop.ts';
import { lockedPackages, npmLockSchema } from './npm-lock.ts';
import { buildNpm, type NpmResolution, resolveNpm } from './npm-steps.ts';

export interface NpmWork {
  readonly like: LikeSandbox;
  readonly identity: string | undefined;
  readonly request: CheckedRequest;
}

/** The Node that packages are installed for. */
interface NodeBase {
  /** The path of Python, which packs the layer. */
  readonly python: string;
  /** Equal for bases in which the same layer works. */
  readonly key: string;
}

/** Both are JSON, as the builder printed it. */
const baseSchema = z.object({ python: z.string(), node: z.string().max(1000) });
const nodeSchema = z.object({ version: z.string().max(100), modules: z.string().max(100) });
const resolutionSchema = z.object({ lock: npmLockSchema, wanted: z.string() });
const NODE_PROGRAM = 'JSON.stringify({ version: process.version, modules: process.versions.modules })';

/** How packages of npm become a layer. Each request has all that it needs in its own layer: Node finds packages by their place. */
export async function npmPlan(
  shop: Workshop,
  { like, identity, request }: NpmWork,
  watching: Watching,
): Promise<LayerPlan<NodeBase, NpmResolution>> {
  const { signal, onProgress } = watching;
  const settings = await shop.registries.npm(signal);
  const packages = request.wanted.map(({ text }) => text);
  return {
    manager: 'npm',
    owner: like.owner,
    identity,
    image: imageOf(like, identity),
    upgrade: request.upgrade,
    open: () => openNpmBuilder(shop, like, settings, watching),
    equip: (opened) => provideNpm(shop, opened, settings, watching),
    describe: async ({ builder }) => {
      const python = await describePython(builder, signal);
      const { exitCode, stdout } = await builder.run(['node', '-p', NODE_PROGRAM], { signal });
      if (exitCode !== 0) throw noNode();
      return JSON.stringify({ python, node: stdout });
    },
    parseBase: parseNodeBase,
    asked: (base) => [[...packages].sort(), base.key, registryNames(settings)],
    parseLock: parsedOrUndefined,
    resolve: ({ builder, environment }) => resolveNpm(builder, packages, { environment, signal }),
    lacking: (_, lock) => ({ lock, packages: lockedPackages(lock.lock), present: [], superseded: [] }),
    content: (base, { lock }) => [base.key, lock.packages],
    build: async ({ builder, environment }, base, lock) => {
      const what = { ...lock, python: base.python, mostBytes: shop.layerLimits.bytes };
      return buildNpm(builder, what, { environment, signal, onLine: onProgress });
    },
  };
}

async function openNpmBuilder(
  shop: Workshop,
  like: LikeSandbox,
  settings: NpmSettings,
  { signal }: Watching,
): Promise<OpenedBuilder> {
  const hosts = await shop.registries.hosts({ of: ['npm'], ...(signal === undefined ? {} : { signal }) });
  const logins = registriesOf(settings).filter(({ login }) => login !== undefined);
  return shop.open({ ...like, network: { hosts, logins }, folders: [] }, signal);
}

/** Puts npm into a builder. Returns the variables to run it with. */
async function provideNpm(
  shop: Workshop,
  { builder, addressOf }: OpenedBuilder,
  settings: NpmSettings,
  { signal }: Watching,
): Promise<Record<string, string>> {
  const { registry, scopes } = settings;
  await builder.add(await npmTool(shop.root, shop.registries, signal));
  const lines = [...scopes].map(([scope, own]) => `${scope}:registry=${addressOf(own)}\n`);
  await builder.write('.npmrc', lines.join(''));
  return {
    HOME: WORKSPACE,
    npm_config_cache: `${WORKSPACE}/.npm`,
    npm_config_userconfig: `${WORKSPACE}/.npmrc`,
    // A lock without addresses is good for any builder: the address of a registry with a login is another one in each.
    npm_config_omit_lockfile_registry_resolved: 'true',
    ...(registry === undefined ? {} : { npm_config_registry: addressOf(registry) }),
    ...loopbackVariables(registriesOf(settings)),
  };
}

function parseNodeBase(text: string): NodeBase | undefined {
  try {
    const printed = baseSchema.parse(JSON.parse(text));
    const described = parseBase(printed.python);
    if (described === undefined) return undefined;
    const node = nodeSchema.parse(JSON.parse(printed.node));
    const { machine, libc } = described;
    return { python: described.python, key: contentKey(['node', node, machine, libc]) };
  } catch {
    return undefined;
  }
}

function parsedOrUndefined(json: string): NpmResolution | undefined {
  try {
    return resolutionSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function registriesOf({ registry, scopes }: NpmSettings) {
  return [...(registry === undefined ? [] : [registry]), ...scopes.values()];
}

function registryNames({ registry, scopes }: NpmSettings): unknown {
  return [registry?.url, [...scopes].map(([scope, { url }]) => [scope, url])];
}

function noNode(): HotcellError {
  return new HotcellError('install_failed', 'this sandbox has no Node, so that packages of npm are of no use in it', {
    remedy: 'Use the standard image, or an image with Node.',
  });
}
