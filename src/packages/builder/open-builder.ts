import type { RegistryHost } from '../../network/contract.ts';
import type { Registry } from '../../registries/registry.ts';
import type { DriverName } from '../../sandbox/isolation.ts';
import type { Builder } from './builder.ts';

/** The sandbox that packages are installed for: a builder is made like it. */
export interface LikeSandbox {
  readonly owner: string;
  readonly driver: DriverName;
  readonly image: string | undefined;
}

/**
 * The image that a caller has named, by its identity if the driver knows it. Undefined for the files that Hotcell chose.
 *
 * SECURITY: an image decides what happens in its builders, and what it says of itself. So what was made in one is for sandboxes of the same image alone, however
 * equal others look; otherwise a hostile image could put its own code in place of a package for all sessions of its owner.
 */
export function imageOf({ image }: Pick<LikeSandbox, 'image'>, identity: string | undefined): string | undefined {
  return image === undefined ? undefined : (identity ?? image);
}

export interface BuilderWanted extends LikeSandbox {
  /** The hosts that it may reach, and the registries to which the host adds a login. Undefined for a builder without a network. */
  readonly network: BuilderNetwork | undefined;
  /** Folders of the host that it sees read-only. */
  readonly folders: readonly string[];
}

export interface BuilderNetwork {
  readonly hosts: readonly RegistryHost[];
  readonly logins: readonly Registry[];
}

export interface OpenedBuilder extends AsyncDisposable {
  readonly builder: Builder;
  /** The address at which programs in it reach a registry: another one than the registry's own if the host adds a login. */
  addressOf(registry: Pick<Registry, 'url'>): string;
  /** The reverse: an address outside for one that programs in it use. */
  originalOf(address: string): string;
  /** The path at which programs in it see a folder of the host. Undefined if the driver cannot show it. */
  placeOf(folder: string): string | undefined;
}

/** Opens a builder. Rejects with a HotcellError, without leftovers. The signal also ends the builder later. */
export type OpenBuilder = (wanted: BuilderWanted, signal?: AbortSignal) => Promise<OpenedBuilder>;

/** A builder that is opened when it is first needed. */
export interface LaterBuilder extends AsyncDisposable {
  get(): Promise<OpenedBuilder>;
}

export function laterBuilder(open: () => Promise<OpenedBuilder>): LaterBuilder {
  let opened: Promise<OpenedBuilder> | undefined;
  return {
    get: () => {
      opened ??= open();
      return opened;
    },
    [Symbol.asyncDispose]: async () => {
      const builder = await opened?.catch(() => undefined);
      await builder?.[Symbol.asyncDispose]();
    },
  };
}
