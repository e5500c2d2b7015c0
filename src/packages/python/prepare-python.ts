import type { SupersededPackage } from '../../sessions/installation.ts';
import type { SessionFiles } from '../../sessions/session-files.ts';
import { imageOf, laterBuilder } from '../builder/open-builder.ts';
import { baseOf, prepareLayer } from '../prepare.ts';
import type { Prepared } from '../prepared.ts';
import { parsePythonRequirement } from '../request/python-requirement.ts';
import type { LocalPackage, NamedPackage, WantedPackage } from '../request/wanted-package.ts';
import type { Watching, Workshop } from '../workshop.ts';
import { type PythonBase, versionIn, withPackages } from './described-python.ts';
import { type PreparedLocal, prepareLocal } from './local/prepare-local.ts';
import { readLocal } from './local/read-local.ts';
import { type PythonWork, pythonPlan } from './python-plan.ts';

export interface PythonInstallation extends Omit<PythonWork, 'wanted' | 'locals'> {
  readonly wanted: readonly WantedPackage[];
  /** Resolves with the files of the session when it is the installation's turn to read them. */
  readonly files: () => Promise<Pick<SessionFiles, 'list' | 'read'>>;
}

/**
 * Prepares layers with packages of Python: one with those of registries, and one for each package of the workspace.
 *
 * SECURITY: a package of the workspace is code of the session. It is built in a builder without a network, and only its requirements go to the one with a network;
 * otherwise an installation would let a sealed session send anything to anyone who can publish a package.
 */
export async function preparePython(
  shop: Workshop,
  { wanted, files, ...work }: PythonInstallation,
  watching: Watching,
): Promise<Prepared> {
  const named = wanted.filter((one): one is NamedPackage => one.kind === 'named');
  const own = wanted.filter((one): one is LocalPackage => one.kind === 'local');
  if (own.length === 0)
    return prepareLayer(shop, await pythonPlan(shop, { ...work, wanted: named }, watching), watching);
  const base = await baseOffline(shop, work, watching);
  const locals: PreparedLocal[] = [];
  for (const one of own) {
    const source = await readLocal(await files(), one, watching.signal);
    const image = imageOf(work.like, work.identity);
    locals.push(await prepareLocal(shop, { like: work.like, image, base, source, prepareTools }, watching));
  }
  const needs = named.length > 0 || locals.some(({ facts }) => facts.requires.length > 0);
  const others = needs
    ? await prepareLayer(shop, await pythonPlan(shop, { ...work, wanted: named, locals }, watching), watching)
    : NOTHING;
  const superseded = locals.flatMap((local) => supersededBy(local, withPackages(base, work.had)));
  return {
    layers: [...others.layers, ...locals.map(({ key }) => key)],
    installed: [...others.installed, ...locals.map(({ facts: { name, version } }) => ({ name, version }))],
    present: others.present,
    superseded: [...others.superseded, ...superseded],
    reused: others.reused && locals.every(({ reused }) => reused),
  };

  /** Prepares build requirements for the base alone: a builder has no layer of the session. */
  async function prepareTools(requirements: readonly string[]): Promise<readonly string[]> {
    const tools = requirements.map((text) => parsePythonRequirement(text) as NamedPackage);
    const plan = await pythonPlan(shop, { ...work, had: [], wanted: tools, upgrade: false }, watching);
    return (await prepareLayer(shop, plan, watching)).layers;
  }
}

const NOTHING: Prepared = { layers: [], installed: [], present: [], superseded: [], reused: true };

async function baseOffline(
  shop: Workshop,
  work: Omit<PythonWork, 'wanted' | 'locals'>,
  watching: Watching,
): Promise<PythonBase> {
  const { like } = work;
  await using builder = laterBuilder(() => shop.open({ ...like, network: undefined, folders: [] }, watching.signal));
  return baseOf(shop, await pythonPlan(shop, { ...work, wanted: [] }, watching), builder);
}

function supersededBy({ facts: { name, version } }: PreparedLocal, base: PythonBase): SupersededPackage[] {
  const from = versionIn(base, name);
  return from === undefined || from === version ? [] : [{ name, from, to: version }];
}
