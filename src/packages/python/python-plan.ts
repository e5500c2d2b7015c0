import type { PythonRegistries } from '../../registries/python-registries.ts';
import type { VersionedPackage } from '../../sessions/installation.ts';
import { imageOf, type LikeSandbox } from '../builder/open-builder.ts';
import type { LayerPlan } from '../prepare.ts';
import { normalizeName } from '../request/python-requirement.ts';
import type { NamedPackage } from '../request/wanted-package.ts';
import type { Watching, Workshop } from '../workshop.ts';
import { buildPython } from './build-python.ts';
import { type PythonBase, parseBase, withPackages } from './described-python.ts';
import { type LocalFacts, stubWheel } from './local/stub-wheel.ts';
import { describePython, openPythonBuilder, provideUv, pythonHosts } from './python-builders.ts';
import { differenceFrom, type PythonLock, pythonLockSchema, withAddresses } from './python-lock.ts';
import { resolvePython } from './resolve-python.ts';

export interface PythonWork {
  readonly like: LikeSandbox;
  readonly identity: string | undefined;
  /** Packages in the layers that the session has. */
  readonly had: readonly VersionedPackage[];
  /** Packages of registries. */
  readonly wanted: readonly NamedPackage[];
  readonly upgrade: boolean;
  /** Packages of the workspace, whose requirements are resolved with them. */
  readonly locals?: readonly LocalToResolve[];
}

export interface LocalToResolve {
  readonly facts: LocalFacts;
  /** The optional parts that are wanted, as `[dev]`. */
  readonly extras: string;
}

/** The folder of stub wheels in a builder. */
const LOCAL = 'local';

/** How packages of Python become a layer. */
export async function pythonPlan(
  shop: Workshop,
  { like, identity, had, wanted, upgrade, locals = [] }: PythonWork,
  watching: Watching,
): Promise<LayerPlan<PythonBase, PythonLock>> {
  const { signal, onProgress } = watching;
  const settings = await shop.registries.python(signal);
  const names = wanted.map(({ name }) => name);
  const stubs = locals.map(({ facts, extras }, index) => {
    const { file, content } = stubWheel(facts);
    return { path: `${LOCAL}/${index}/${file}`, content, extras };
  });
  const requirements = [...wanted.map(({ text }) => text), ...stubs.map(({ path, extras }) => `./${path}${extras}`)];
  /** Both builders may reach the same. */
  let hosts: ReturnType<typeof pythonHosts> | undefined;
  return {
    manager: 'pip',
    owner: like.owner,
    identity,
    image: imageOf(like, identity),
    upgrade,
    open: async () => {
      hosts ??= pythonHosts(shop, { owner: like.owner, projects: names }, watching);
      return openPythonBuilder(shop, { like, settings, hosts: await hosts }, watching);
    },
    equip: (opened, base) => provideUv(shop, opened, { base, settings }, watching),
    describe: ({ builder }) => describePython(builder, signal),
    parseBase,
    asked: (base) => [[...requirements].sort(), locals, withPackages(base, had), withoutLogins(settings)],
    parseLock: (json) => parsedOrUndefined(json),
    resolve: async (opened, base) => {
      for (const { path, content } of stubs) await opened.builder.write(path, content);
      const upgraded = new Set([...(upgrade ? names : []), ...locals.map(({ facts }) => facts.name)]);
      const noIndex = settings.index === undefined;
      const resolution = { base: withPackages(base, had), requirements, upgraded, noIndex };
      const lock = await resolvePython(opened.builder, resolution, { environment: opened.environment, signal });
      // The address of a registry with a login is another one in each builder.
      return withAddresses(lock, opened.originalOf);
    },
    lacking: (base, lock) => {
      const { missing, superseded } = differenceFrom(withPackages(base, had), withoutStubs(lock));
      const packages = versions(missing);
      const isNew = new Set(packages.map(({ name }) => name));
      const present = versions(lock).filter(({ name }) => names.includes(name) && !isNew.has(name));
      return { lock: missing, packages, present, superseded };
    },
    content: (base, { packages }) => [base.key, packages],
    build: async (opened, base, lock) => {
      const { environment } = opened;
      const reached = withAddresses(lock, (url) => opened.addressOf({ url }));
      const what = { base, lock: reached, mostBytes: shop.layerLimits.bytes };
      return buildPython(opened.builder, what, { environment, signal, onLine: onProgress });
    },
  };
}

/** Packages of the workspace have layers of their own. */
function withoutStubs(lock: PythonLock): PythonLock {
  return { ...lock, packages: lock.packages.filter(({ archive }) => archive?.path?.startsWith(`${LOCAL}/`) !== true) };
}

function parsedOrUndefined(json: string): PythonLock | undefined {
  try {
    return pythonLockSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function versions({ packages }: PythonLock): VersionedPackage[] {
  return packages.map(({ name, version = '' }) => ({ name: normalizeName(name), version }));
}

/** SECURITY: a name in the store tells nothing about a password. */
function withoutLogins(settings: PythonRegistries): unknown {
  return JSON.parse(JSON.stringify(settings, (key, value) => (key === 'login' ? undefined : value)));
}
