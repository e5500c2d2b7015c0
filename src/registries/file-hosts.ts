import type { RegistryHost } from '../network/contract.ts';
import type { Page } from './fetch-page.ts';
import { hostOf, linkedHosts } from './linked-hosts.ts';
import type { Registry } from './registry.ts';

/** Reads a page of a registry; undefined if it has no such page. Rejects if the registry cannot be reached. */
export type ReadPage = (registry: Registry, path: string, signal?: AbortSignal) => Promise<Page | undefined>;

export interface FileHosts {
  readonly hosts: readonly RegistryHost[];
  /** Whether all registries could be asked. */
  readonly complete: boolean;
}

/** The hosts of the registries themselves. All of them were named by the operator, or by the tool itself as its default. */
export function ownHosts(registries: readonly Registry[]): RegistryHost[] {
  return registries.flatMap(({ url }) => {
    const rule = hostOf(url);
    return rule === undefined ? [] : [{ rule, configured: true }];
  });
}

/** The hosts that the registries keep their files on, by one of their pages: the project of the tool itself, which every registry for it has. */
export async function fileHosts(registries: readonly Registry[], path: string, read: ReadPage): Promise<FileHosts> {
  const found = await Promise.all(
    registries.map(async (registry) => {
      const linked = await linkedFrom(registry, path, read);
      // SECURITY: a page must not lead to addresses of the host's own network, unless the index itself is there: then it is a mirror of that network, and may keep
      // its files on another of its hosts. What counts is the address that the page was read from: a name may resolve to another one a moment later. Only for the tool's own project: the page of any other one may be written by its author.
      return linked?.rules.map((rule) => ({ rule, configured: linked.isPrivate }));
    }),
  );
  return { hosts: found.flatMap((hosts) => hosts ?? []), complete: !found.includes(undefined) };
}

/** The hosts that pages of these projects link to. Unlike those of `fileHosts`, they are never private. */
export async function hostsOfPages(
  registries: readonly Registry[],
  paths: readonly string[],
  read: ReadPage,
): Promise<RegistryHost[]> {
  const pages = registries.flatMap((registry) => paths.map((path) => linkedFrom(registry, path, read)));
  return (await Promise.all(pages)).flatMap(
    (linked) => linked?.rules.map((rule) => ({ rule, configured: false })) ?? [],
  );
}

/** One rule for each host; one that is configured anywhere is configured. */
export function merged(hosts: readonly RegistryHost[]): RegistryHost[] {
  const configured = new Map<string, boolean>();
  for (const host of hosts) configured.set(host.rule, host.configured || configured.get(host.rule) === true);
  return [...configured].map(([rule, isConfigured]) => ({ rule, configured: isConfigured }));
}

interface Linked {
  readonly rules: readonly string[];
  readonly isPrivate: boolean;
}

/** Undefined if the registry could not be asked. */
async function linkedFrom(registry: Registry, path: string, read: ReadPage): Promise<Linked | undefined> {
  try {
    const page = await read(registry, path);
    if (page === undefined) return { rules: [], isPrivate: false };
    const rules = [...page.urls.flatMap((url) => hostOf(url) ?? []), ...linkedHosts(page.text, page.urls.at(-1)!)];
    return { rules, isPrivate: page.isPrivate };
  } catch {
    return undefined;
  }
}
