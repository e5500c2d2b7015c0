import type { WantedInstall } from '../broker/installs.ts';
import { parseOptions } from '../config/parse-options.ts';
import { type Config, configSchema } from '../config/schema.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { createSessionCore, type SessionCore } from '../execution/session-core.ts';
import type { LiveSandbox } from '../guest/live-sandbox.ts';
import { either } from '../lib/abort.ts';
import { resolveRoots } from '../lib/configured-paths.ts';
import type { DriverDeclarations } from '../sandbox/declaration.ts';
import type { Driver } from '../sandbox/driver.ts';
import type { SandboxSpec } from '../sandbox/spec.ts';
import { type HeldMounts, holdKnownMounts, holdMounts, NO_MOUNTS } from './held-mounts.ts';
import type { Installation } from './installation.ts';
import { createInstallationLog, type InstallationLog } from './installation-log.ts';
import type { IsolationChoices } from './isolation-choices.ts';
import type { MountPolicy, MountRequest } from './mounts.ts';
import type { Networking } from './networking.ts';
import type { GivenToSession, OpenOptions } from './open-options.ts';
import type { Pool, PoolPermits } from './pool.ts';
import type { Removals } from './removals.ts';
import { type NeededTrait, requireTraits } from './require-traits.ts';
import type { Server } from './server.ts';
import type { SessionNetworking } from './session-networking.ts';
import { createSessionSandboxes, type SessionSandboxes } from './session-sandboxes.ts';
import { specFor } from './spec-for.ts';

const isolationOption = configSchema.pick({ isolation: true });

/** An open session, with the packages that were installed into it. */
export interface LiveSession extends SessionCore {
  readonly installed: InstallationLog;
}

/** How packages get into sessions. */
export interface LivePackages {
  install(session: LiveSession, wanted: WantedInstall): Promise<Installation>;
  /** The trees of layers that a session has from an earlier server; undefined for one that is gone from the store. */
  trees(session: Pick<LiveSession, 'spec' | 'uniqueId'>, layers: readonly string[]): Promise<(string | undefined)[]>;
}

/** The parts of one Hotcell that sessions are opened with. `live-sessions.ts` makes them. */
export interface OpeningParts {
  readonly config: Config;
  readonly server: Server;
  readonly choose: IsolationChoices;
  readonly declared: DriverDeclarations;
  readonly networking: Networking;
  /** Without it, no session may install packages. */
  readonly packages: LivePackages | undefined;
  /** The policy for mounts of callers. */
  readonly policy: () => MountPolicy;
  readonly pool: Pool;
  readonly removals: Removals;
  /** Aborted when this Hotcell is closed. */
  readonly stop: AbortSignal;
  /** Called when a session begins to close. */
  readonly onClosed: (session: LiveSession) => void;
}

interface FirstOptions {
  readonly sandboxes: SessionSandboxes;
  readonly held: HeldMounts;
  readonly permits: PoolPermits;
}

/** Opens one session: its mounts, its network, its first sandbox. Rejects with a HotcellError, without leftovers. */
export type OpenSession = (wanted: OpenOptions, given: Partial<GivenToSession>) => Promise<LiveSession>;

export function createOpenSession(parts: OpeningParts): OpenSession {
  const { config, server, choose, declared, networking, packages, policy, pool, removals, stop, onClosed } = parts;
  const { startTimeoutMs } = config;

  async function open(wanted: OpenOptions, given: Partial<GivenToSession>): Promise<LiveSession> {
    const held = await mountsOf(wanted, given);
    let opened: (() => void) | undefined;
    let network: SessionNetworking | undefined;
    try {
      const spec = specOf(wanted, given, held);
      network = await networkOf(spec, wanted, given);
      opened = await removals.room(spec.owner, wanted.signal);
      return await openWith({ held, network, spec }, wanted, given);
    } catch (error) {
      network?.close();
      await held.release();
      throw error;
    } finally {
      opened?.();
    }
  }

  function networkOf(
    { owner, id: session }: SandboxSpec,
    { network: asked, services, mayInstall = true }: OpenOptions,
    given: Partial<GivenToSession>,
  ): Promise<SessionNetworking> {
    const { networkCeiling: ceiling, networkGranted: granted, onCall, onNetwork: onEvent } = given;
    const { allowedServices, onUnreadable } = given;
    const { network: kept, services: keptServices } = given.persistence?.resume ?? {};
    return (given.networking ?? networking).begin({
      ...{ owner, session, asked, kept, ceiling, granted, onCall, onEvent },
      ...{ allowedServices, services, keptServices, onUnreadable },
      // SECURITY: a builder runs code of strangers, which must not start further builders.
      mayInstall: packages !== undefined && mayInstall && given.mayInstall !== false && given.isBuilder !== true,
    });
  }

  async function openWith(
    { held, network, spec }: { held: HeldMounts; network: SessionNetworking; spec: SandboxSpec },
    wanted: OpenOptions,
    given: Partial<GivenToSession>,
  ): Promise<LiveSession> {
    const { persistence, slots, beginUse, placeToStart, mayHoldAhead } = given;
    const { signal } = wanted;
    const permits: PoolPermits = { place: placeToStart, mayHold: mayHoldAhead, signal: either(stop, signal) };
    const before = persistence?.resume?.installations ?? [];
    const installed = createInstallationLog(before, () => sandboxes.keep());
    const sandboxes: SessionSandboxes = createSessionSandboxes({
      ...{ spec, held, persistence, startTimeoutMs, signal },
      kept: () => ({ network: network.setting(), services: network.services(), installations: installed.all() }),
      stop,
    });
    let tried: LiveSandbox | undefined;
    const attempt = async (driver: Driver) => {
      tried = await sandboxes.first(driver);
    };
    const { isolation } = parseOptions(isolationOption, { isolation: wanted.isolation ?? config.isolation });
    const { driver, passedOver } = await choose(isolation, {
      attempt: isPlain(spec) ? attempt : undefined,
    });
    if (stop.aborted) await tried?.dispose();
    requireOpen(stop);
    requireTraits(neededBy(wanted, spec), { driver, passedOver }, declared);
    if (tried !== undefined) pool.expect(driver, spec, permits);
    const removesBehind = mayRemoveBehind(driver, spec);
    const core = createSessionCore({
      uniqueId: spec.id,
      spec,
      passedOver,
      logFolder: server.logFolder(spec.id),
      first: await network.give(tried ?? (await firstOf(driver, spec, { sandboxes, held, permits }))),
      reopen: async (closing) => {
        const release = await placeToStart?.(closing);
        return network.give(await sandboxes.next(driver).finally(release));
      },
      network: {
        ...network,
        set: async (setting, how) => {
          await network.set(setting, how);
          await sandboxes.keep();
        },
      },
      layersBefore: () => treesOf({ installed, spec, uniqueId: spec.id }, before),
      onClosed: (gone) => {
        network.close();
        onClosed(session);
        if (removesBehind) removals.track(spec.owner, gone);
      },
      onEnded: () => held.release({ mayBeHandedOn: driver.traits.passesDescriptors }),
      removesBehind,
      slots,
      beginUse,
    });
    const session: LiveSession = { ...core, installed };
    if (packages !== undefined)
      network.installWith(async (wantedInstall) => {
        const done = await packages.install(session, wantedInstall);
        given.onInstalled?.(session, done);
        return done;
      });
    return session;
  }

  /** The trees of what an earlier server installed. What is gone from the store is no longer among the installations: it can be installed again. */
  async function treesOf(
    session: Pick<LiveSession, 'installed' | 'spec' | 'uniqueId'>,
    before: readonly Installation[],
  ): Promise<string[]> {
    const keys = before.flatMap(({ layers }) => layers);
    if (keys.length === 0) return [];
    const trees = (await packages?.trees(session, keys)) ?? [];
    session.installed.withdraw(keys.filter((_, index) => trees[index] === undefined));
    return trees.filter((tree) => tree !== undefined);
  }

  /** A sandbox from the pool, else a new one. */
  async function firstOf(
    driver: Driver,
    spec: SandboxSpec,
    { sandboxes, held, permits }: FirstOptions,
  ): Promise<LiveSandbox> {
    if (spec.persistent !== undefined) return sandboxes.first(driver);
    await held.requireSame();
    return (await pool.claim(driver, spec, permits)) ?? sandboxes.first(driver);
  }

  async function mountsOf(wanted: OpenOptions, { persistence, folders }: Partial<GivenToSession>): Promise<HeldMounts> {
    if (folders !== undefined && folders.length > 0) return holdRegistryFolders(folders, policy(), server.mounts);
    const resumed = persistence?.resume;
    if (resumed !== undefined) return holdKnownMounts(resumed, policy(), server.mounts);
    const { mounts = [], owner } = wanted;
    return mounts.length === 0 ? NO_MOUNTS : holdMounts({ mounts, owner }, policy(), server.mounts);
  }

  function specOf(
    wanted: OpenOptions,
    { uniqueId, persistence }: Partial<GivenToSession>,
    { mounts }: HeldMounts,
  ): SandboxSpec {
    return {
      ...(persistence?.resume?.spec ?? specFor(config, wanted, mounts)),
      ...(uniqueId === undefined ? {} : { id: uniqueId }),
      ...(persistence === undefined ? {} : { persistent: persistence.alone }),
    };
  }

  return open;
}

/** Throws if this Hotcell is closed. */
export function requireOpen(stop: AbortSignal): void {
  if (stop.aborted) throw new HotcellError('session_closed', 'this Hotcell is closed');
}

/**
 * For folders that the settings of the host's installers name. SECURITY: they need not be below the roots for mounts of
 * callers, but all else applies: keys and other secrets are denied, since build scripts can read the folder and reach an
 * index; and the folder that was checked is bound.
 */
function holdRegistryFolders(
  folders: readonly Pick<MountRequest, 'source' | 'target'>[],
  policy: MountPolicy,
  registry: Server['mounts'],
): Promise<HeldMounts> {
  const roots = folders.map(({ source }) => source);
  return holdMounts({ mounts: folders }, { ...policy, roots: resolveRoots(roots, roots) }, registry);
}

/** Whether the request is plain, so that a failure to create its sandbox is not the request's fault. */
function isPlain({ image, mounts, persistent }: SandboxSpec): boolean {
  return image === undefined && mounts.length === 0 && persistent === undefined;
}

/**
 * Whether `close` need not wait for the removal of the sandbox. With mounts, its programs could still write there, and
 * a persistent session must not be forgotten before its sandbox is gone. A sandbox that shares a zygote is removed
 * within milliseconds.
 */
function mayRemoveBehind({ traits }: Driver, { mounts, persistent }: SandboxSpec): boolean {
  return mounts.length === 0 && persistent === undefined && !traits.sharesWithinOwner;
}

/**
 * The traits that a request needs. The server's default image applies only to drivers with images, so it needs no
 * trait.
 */
function neededBy({ image }: OpenOptions, { mounts, persistent }: SandboxSpec): NeededTrait[] {
  return [
    ...(persistent === undefined ? [] : (['persistence'] as const)),
    ...(image === undefined ? [] : (['images'] as const)),
    ...(mounts.length === 0 ? [] : (['mounts'] as const)),
  ];
}
