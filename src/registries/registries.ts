import { setMaxListeners } from 'node:events';
import { either, unlessAborted } from '../lib/abort.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { createFairQueue } from '../lib/fair-queue.ts';
import type { RegistryHost } from '../network/contract.ts';
import { aptSources } from './apt-sources.ts';
import { fetchPage } from './fetch-page.ts';
import { type FileHosts, fileHosts, hostsOfPages, merged, ownHosts, type ReadPage } from './file-hosts.ts';
import { type AskKept, keptAnswer } from './kept-answer.ts';
import { type NpmSettings, npmSettings } from './npm-settings.ts';
import { type PythonRegistries, pythonRegistries } from './python-registries.ts';
import { hostReaching } from './reaching.ts';
import { isFolder, type Registry } from './registry.ts';

/** The registries of this host, as its pip, uv, npm and apt are configured. The tools are asked on first use, and again after some minutes. */
export interface Registries {
  python(signal?: AbortSignal): Promise<PythonRegistries>;
  npm(signal?: AbortSignal): Promise<NpmSettings>;
  /**
   * The hosts that the word `registries` means in a network policy, by default those of all tools: the hosts of the registries, and those of their files. Rejects
   * only when aborted: of a registry that cannot be reached, its own host is named.
   */
  hosts(options?: { of?: readonly RegistryKind[]; signal?: AbortSignal }): Promise<RegistryHost[]>;
  /**
   * The hosts of the files of these projects of Python, in all indexes. The names must be normalized. Pages are read in turn between owners, and no longer than a
   * caller waits for them.
   */
  hostsOfProjects(names: readonly string[], caller: PagesCaller): Promise<RegistryHost[]>;
}

/** The caller that pages are read for. */
export interface PagesCaller {
  readonly owner: string;
  readonly signal?: AbortSignal | undefined;
}

export type RegistryKind = 'python' | 'npm' | 'apt';

const ALL_KINDS: readonly RegistryKind[] = ['python', 'npm', 'apt'];
const KEPT_MS = 10 * 60_000;
/** Not all registries could be reached: the network may just be coming up. */
const KEPT_INCOMPLETE_MS = 10_000;
const PAGE_TIMEOUT_MS = 10_000;
/** The builder that resolves and the one that installs ask for the same pages, moments after each other. */
const PROJECT_KEPT_MS = 60_000;
const MOST_PROJECTS = 1000;
/** SECURITY: a request may name two hundred projects, and a page has megabytes. One owner alone gets half of them. */
const PAGES_AT_ONCE = 16;

/** How the tools of a host are asked, which tests replace. */
export interface AskTools {
  readonly python: () => Promise<PythonRegistries>;
  readonly npm: () => Promise<NpmSettings>;
  readonly apt: () => Promise<readonly Registry[]>;
}

const HOST_TOOLS: AskTools = { python: () => pythonRegistries(), npm: () => npmSettings(), apt: () => aptSources() };

export function createRegistries(ask: AskTools = HOST_TOOLS, clock: Clock = systemClock): Registries {
  const kept = <T>(work: () => Promise<T>) => keptAnswer(work, () => KEPT_MS, clock);
  const [python, npm, apt] = [kept(ask.python), kept(ask.npm), kept(ask.apt)];
  const keptHosts = (work: () => Promise<FileHosts>) =>
    keptAnswer(work, ({ complete }) => (complete ? KEPT_MS : KEPT_INCOMPLETE_MS), clock);
  const hostsOf = {
    python: keptHosts(async () => {
      const settings = await python();
      return withFileHosts(pythonIndexes(settings), 'pip/', await pageReader(settings));
    }),
    npm: keptHosts(async () => {
      const settings = await npm();
      return withFileHosts(npmIndexes(settings), 'npm/latest', await pageReader(settings));
    }),
    // Files of a repository of Debian are below its own address.
    apt: kept(async () => ({ hosts: ownHosts(await apt()), complete: true })),
  } satisfies Record<RegistryKind, () => Promise<FileHosts>>;

  // Reading a hundred certificates takes long, so one reader serves all projects.
  const pythonPages = kept(async () => {
    const settings = await python();
    return { settings, read: await pageReader(settings) };
  });
  const places = createFairQueue(PAGES_AT_ONCE);
  const projects = new Map<string, AskKept<RegistryHost[]>>();

  /**
   * The hosts of one project, which are kept for a while. Those asked for first are forgotten first. SECURITY: an owner shares neither places nor pages under way
   * with another one; otherwise it would wait behind all that the other has asked for.
   */
  function hostsOfProject(owner: string, name: string): AskKept<RegistryHost[]> {
    const key = JSON.stringify([owner, name]);
    const known = projects.get(key);
    if (known !== undefined) return known;
    const asked = keptAnswer(
      async (signal) => {
        const { settings, read } = await pythonPages();
        const inTurn: ReadPage = async (registry, path) => {
          const release = await places.take(owner, { signal });
          return await read(registry, path, signal).finally(release);
        };
        return hostsOfPages(pythonIndexes(settings), [`${encodeURIComponent(name)}/`], inTurn);
      },
      (hosts) => (hosts.length === 0 ? 0 : PROJECT_KEPT_MS),
      clock,
    );
    projects.set(key, asked);
    const [oldest] = projects.keys();
    if (projects.size > MOST_PROJECTS) projects.delete(oldest!);
    return asked;
  }

  return {
    python: (signal) => unlessAborted(python(), signal),
    npm: (signal) => unlessAborted(npm(), signal),
    hosts: async ({ of = ALL_KINDS, signal } = {}) => {
      const found = Promise.all(of.map((kind) => hostsOf[kind]()));
      return merged((await unlessAborted(found, signal)).flatMap(({ hosts }) => hosts));
    },
    hostsOfProjects: async (names, { owner, signal }) => {
      const gone = signal === undefined ? undefined : AbortSignal.any([signal]);
      if (gone !== undefined) setMaxListeners(0, gone); // each project listens, and Node would warn of more than ten
      const found = names.map((name) => hostsOfProject(owner, name)(gone));
      return merged((await Promise.all(found)).flat());
    },
  };
}

async function withFileHosts(registries: readonly Registry[], probe: string, read: ReadPage): Promise<FileHosts> {
  const { hosts, complete } = await fileHosts(registries, probe, read);
  return { hosts: [...ownHosts(registries), ...hosts], complete };
}

function pythonIndexes({ index, extraIndexes, findLinks }: PythonRegistries): Registry[] {
  return [...(index === undefined ? [] : [index]), ...extraIndexes, ...findLinks].flatMap((place) =>
    isFolder(place) ? [] : [place],
  );
}

function npmIndexes({ registry, scopes }: NpmSettings): Registry[] {
  return [...(registry === undefined ? [] : [registry]), ...scopes.values()];
}

type ReachedBy = Partial<Pick<PythonRegistries, 'certificates' | 'insecureHosts'>>;

async function pageReader(settings: ReachedBy): Promise<ReadPage> {
  const reaching = await hostReaching(settings);
  return (registry, path, signal) =>
    fetchPage(registry, path, reaching, either(AbortSignal.timeout(PAGE_TIMEOUT_MS), signal));
}
