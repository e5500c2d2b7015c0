import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import type { RegistryHost } from '../../network/contract.ts';
import type { PythonRegistries } from '../../registries/python-registries.ts';
import { isFolder, type Registry, type RegistryFolder } from '../../registries/registry.ts';
import type { Builder } from '../builder/builder.ts';
import { loopbackVariables } from '../builder/loopback-registries.ts';
import type { LikeSandbox, OpenedBuilder } from '../builder/open-builder.ts';
import { uvTool } from '../tools/uv-tool.ts';
import type { Watching, Workshop } from '../workshop.ts';
import type { PythonBase } from './described-python.ts';
import { uvVariables } from './uv-arguments.ts';

export interface PythonBuilderWanted {
  readonly like: LikeSandbox;
  readonly settings: PythonRegistries;
  readonly hosts: readonly RegistryHost[];
}

/** The hosts that a builder may reach: the indexes, those of their files, and those that the pages of these projects link to. */
export async function pythonHosts(
  { registries }: Workshop,
  { owner, projects }: { owner: string; projects: readonly string[] },
  { signal }: Watching,
): Promise<RegistryHost[]> {
  const [own, linked] = await Promise.all([
    registries.hosts({ of: ['python'], ...(signal === undefined ? {} : { signal }) }),
    registries.hostsOfProjects(projects, { owner, signal }),
  ]);
  const known = new Set(own.map(({ rule }) => rule));
  return [...own, ...linked.filter(({ rule }) => !known.has(rule))];
}

/** Opens a builder that reaches the indexes of Python. */
export function openPythonBuilder(
  shop: Workshop,
  { like, settings, hosts }: PythonBuilderWanted,
  { signal }: Watching,
): Promise<OpenedBuilder> {
  const places = placesOf(settings);
  return shop.open(
    {
      ...like,
      network: {
        hosts,
        logins: registriesOf(settings).filter(({ login }) => login !== undefined),
      },
      folders: places.flatMap((place) => (isFolder(place) ? [place.folder] : [])),
    },
    signal,
  );
}

/** Describes the Python of a builder, as JSON (`parseBase`). */
export function describePython(builder: Builder, signal?: AbortSignal): Promise<string> {
  return builder.ask(bootstrapProgram('describe_base'), signal);
}

/** Puts uv into a builder. Returns the variables to run it with. */
export async function provideUv(
  shop: Workshop,
  { builder, addressOf, placeOf }: OpenedBuilder,
  { base, settings }: { base: PythonBase; settings: PythonRegistries },
  { signal }: Watching,
): Promise<Record<string, string>> {
  await builder.add(await uvTool(shop.root, base, shop.registries, signal));
  return {
    ...uvVariables(settings, { address: addressOf, folder: placeOf }),
    ...loopbackVariables(registriesOf(settings)),
  };
}

function placesOf({ index, extraIndexes, findLinks }: PythonRegistries): (Registry | RegistryFolder)[] {
  return [...(index === undefined ? [] : [index]), ...extraIndexes, ...findLinks];
}

function registriesOf(settings: PythonRegistries): Registry[] {
  return placesOf(settings).flatMap((place) => (isFolder(place) ? [] : [place]));
}
