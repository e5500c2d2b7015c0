import { findProgram } from '../lib/find-program.ts';
import { runCommand } from '../lib/run-command.ts';
import { askPip, type PipSettings, parseDefaultIndex } from './pip-settings.ts';
import { placeAt, type Registry, type RegistryFolder } from './registry.ts';
import { type UvSettings, uvSettings } from './uv-settings.ts';

/** The sources of Python packages on this host. Settings of uv count before those of pip. */
export interface PythonRegistries {
  /** The index that is searched last. Undefined if only `findLinks` is searched. */
  readonly index: Place | undefined;
  readonly extraIndexes: readonly Place[];
  readonly findLinks: readonly Place[];
  /** Hosts whose certificates are not checked. */
  readonly insecureHosts: readonly string[];
  /** A file with certificates to trust. */
  readonly certificates: string | undefined;
  /** The order in which several indexes are searched, in uv's words. */
  readonly strategy: string;
}

type Place = Registry | RegistryFolder;

/** Asks the pip and the uv of this host. */
export async function pythonRegistries(signal?: AbortSignal): Promise<PythonRegistries> {
  const asked = findProgram('python3');
  const [pip, uv] = await Promise.all([asked === undefined ? undefined : askPip(asked, signal), uvSettings()]);
  const fallback = pip?.defaultIndex ?? (await defaultOfUv(signal));
  return combined({ pip: pip?.settings, uv, fallback });
}

/** `fallback` is the index that the tools ask where none is configured. */
export function combined({ pip, uv, fallback }: Asked): PythonRegistries {
  const index = uv.index ?? { address: pip?.index ?? fallback ?? '' };
  const extras =
    uv.extraIndexes.length > 0 ? uv.extraIndexes : (pip?.extraIndexes ?? []).map((address) => ({ address }));
  const links = uv.findLinks.length > 0 ? uv.findLinks : (pip?.findLinks ?? []);
  const noIndex = uv.noIndex || pip?.noIndex === true;
  return {
    index: noIndex ? undefined : placeAt(index.address, 'login' in index ? index.login : undefined),
    extraIndexes: noIndex
      ? []
      : extras.flatMap((each) => placeAt(each.address, 'login' in each ? each.login : undefined) ?? []),
    findLinks: links.flatMap((link) => placeAt(link) ?? []),
    insecureHosts: uv.insecureHosts.length > 0 ? uv.insecureHosts : (pip?.trustedHosts ?? []),
    certificates: pip?.certificates,
    // pip takes the best version of all indexes; uv the first index that has the name. Each is what the configured tool would do.
    strategy: uv.strategy ?? (uv.extraIndexes.length > 0 ? 'first-index' : 'unsafe-best-match'),
  };
}

interface Asked {
  readonly pip: PipSettings | undefined;
  readonly uv: UvSettings;
  readonly fallback: string | undefined;
}

/** The index that uv names in its help as its default. */
async function defaultOfUv(signal?: AbortSignal): Promise<string | undefined> {
  const uv = findProgram('uv');
  return uv && parseDefaultIndex((await runCommand(uv, ['help', 'pip', 'install'], { signal })).stdout);
}
