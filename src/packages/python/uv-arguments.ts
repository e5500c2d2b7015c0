import type { PythonRegistries } from '../../registries/python-registries.ts';
import { isFolder, type Registry, type RegistryFolder } from '../../registries/registry.ts';
import { LAYERS } from '../../sandbox/layers.ts';
import { WORKSPACE } from '../../sandbox/spec.ts';

/** The path of uv in a builder: in its first layer, so that no uv of a package, which `bin` may lead to, is taken for it. */
export const UV = `${LAYERS}/0001/bin/uv`;

/** Files of a builder, relative to its workspace. */
export const FILES = {
  requirements: 'requirements.in',
  constraints: 'base.txt',
  /** uv prefers the versions that this file has when it is about to write it. */
  lock: 'pylock.toml',
  /** The folder of what is installed. */
  target: 'layer',
} as const;

/** Places of a builder for a registry: the address that it is reached at, and the path at which a folder of the host is mounted. */
export interface RegistryPlaces {
  address(registry: Registry): string;
  /** Undefined if the sandbox cannot see it. */
  folder(folder: string): string | undefined;
}

/** Arguments of uv that resolve the requirements into a lock. With `constrained`, no package of the base changes its version. */
export function resolveArguments(python: string, how: { constrained: boolean; noIndex: boolean }): string[] {
  return [
    ...['pip', 'compile', FILES.requirements, '--python', python],
    ...(how.constrained ? ['--constraints', FILES.constraints] : []),
    ...(how.noIndex ? ['--no-index'] : []),
    ...['--format', 'pylock.toml', '--output-file', FILES.lock, '--no-header', '--quiet'],
    ...COMMON,
  ];
}

/** Arguments of uv that install exactly what is in the lock. */
export function installArguments(python: string): string[] {
  return [
    ...['pip', 'install', '--python', python, '--target', FILES.target, '--requirements', FILES.lock],
    ...['--no-deps', '--link-mode', 'hardlink', '--preview-features', 'pylock'],
    ...COMMON,
  ];
}

/** Arguments of uv that build a wheel of a folder, with the build requirements that the sandbox has. */
export function wheelArguments(python: string, source: string, out: string): string[] {
  const offline = ['--no-build-isolation', '--offline', '--no-index'];
  return ['build', '--wheel', '--python', python, '--out-dir', out, ...offline, ...COMMON, source];
}

/** Arguments of uv that install one wheel, without what it needs. */
export function localArguments(python: string, wheel: string): string[] {
  const offline = ['--no-deps', '--offline', '--no-index', '--link-mode', 'hardlink'];
  return ['pip', 'install', '--python', python, '--target', FILES.target, ...offline, ...COMMON, '--', wheel];
}

/** Variables of uv in a builder without a network. */
export function offlineVariables(): Record<string, string> {
  return { HOME: WORKSPACE, UV_CACHE_DIR: `${WORKSPACE}/.cache` };
}

const COMMON = ['--no-config', '--no-progress', '--color', 'never', '--no-python-downloads'];

/** Variables of uv. Those of the network are the sandbox's own. */
export function uvVariables(registries: PythonRegistries, places: RegistryPlaces): Record<string, string> {
  const { index, extraIndexes, findLinks, insecureHosts, strategy } = registries;
  const placesOf = (some: readonly (Registry | RegistryFolder)[]) =>
    some.flatMap((place) => (isFolder(place) ? (places.folder(place.folder) ?? []) : places.address(place)));
  const [defaultIndex] = index === undefined ? [] : placesOf([index]);
  const [extras, links] = [placesOf(extraIndexes), placesOf(findLinks)];
  return {
    ...offlineVariables(),
    UV_HTTP_TIMEOUT: '60',
    UV_HTTP_RETRIES: '2',
    UV_INDEX_STRATEGY: strategy,
    UV_KEYRING_PROVIDER: 'disabled',
    ...(defaultIndex === undefined ? {} : { UV_DEFAULT_INDEX: defaultIndex }),
    ...(extras.length === 0 ? {} : { UV_INDEX: extras.join(' ') }),
    ...(links.length === 0 ? {} : { UV_FIND_LINKS: links.join(',') }),
    ...(insecureHosts.length === 0 ? {} : { UV_INSECURE_HOST: insecureHosts.join(' ') }),
  };
}
