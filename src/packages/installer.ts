import { HotcellError } from '../errors/hotcell-error.ts';
import { either, unlessAborted } from '../lib/abort.ts';
import { createEndSignals } from '../lib/end-signals.ts';
import { createFairQueue, type Release } from '../lib/fair-queue.ts';
import { settledWithin } from '../lib/settled-within.ts';
import type { Installation, Manager } from '../sessions/installation.ts';
import type { LivePackages, LiveSession } from '../sessions/open-session.ts';
import { sessionFiles } from '../sessions/session-files.ts';
import type { LikeSandbox } from './builder/open-builder.ts';
import { npmPlan } from './npm/npm-plan.ts';
import { prepareLayer } from './prepare.ts';
import type { Prepared } from './prepared.ts';
import { preparePython } from './python/prepare-python.ts';
import { type CheckedRequest, checkRequest, type InstallRequest } from './request/package-request.ts';
import { createSessionTurns } from './session-turns.ts';
import type { LayerUse } from './store/layer-store.ts';
import { createSessionSpace } from './store/session-space.ts';
import type { Watching, Workshop } from './workshop.ts';

/** Installs packages into sessions. `main.ts` makes one. */
export interface Installer {
  /**
   * Installs packages: afterwards the session's code can import them, code that is running included. Rejects with `packages_conflict` or `install_failed`; the
   * session is as it was then.
   */
  install(session: InstallSession, request: InstallRequest, watching?: Watching): Promise<Installation>;
  /** As `LivePackages.trees`. The layers stay in the store as long as the session is open. */
  trees: LivePackages['trees'];
}

/** The session that packages are installed into. */
export type InstallSession = LiveSession;

export interface InstallerOptions extends Workshop {
  /** Identity of the files that a sandbox like this begins with (`Driver.identify`). */
  readonly identify: (like: LikeSandbox, signal?: AbortSignal) => Promise<string | undefined>;
  /** Called after a layer was added to the store, to keep the store within its limits. */
  readonly onStored: () => void;
}

const INSTALLATIONS_AT_ONCE = 4;
/** The longest time that aborted work keeps its place: it closes builders and drops files meanwhile. */
const ABORTED_MS = 10_000;
/** The folders of a session's layers may take as much space as so many layers of the largest size. */
const SESSION_LAYERS = 4;
/** Those of all sessions of an owner, as much as those of so many sessions. */
const OWNER_SESSIONS = 4;

export function createInstaller(options: InstallerOptions): Installer {
  const queue = createFairQueue(INSTALLATIONS_AT_ONCE);
  const inTurnOf = createSessionTurns();
  const closingOf = createEndSignals(
    () => new HotcellError('session_closed', 'the session was closed before its packages were installed'),
  );
  const sessionBytes = SESSION_LAYERS * options.layerLimits.bytes;
  const space = createSessionSpace({ session: sessionBytes, owner: OWNER_SESSIONS * sessionBytes });

  /**
   * Prepares layers, in a place of the server. SECURITY: an abort rejects at once, and frees the place as soon as the work has ended, or soon after: no guest decides
   * how long it is held.
   */
  async function prepare(
    session: InstallSession,
    request: CheckedRequest,
    watching: InstallWatching,
  ): Promise<Prepared> {
    const like = likeOf(session);
    const { signal } = watching;
    const identity = await unlessAborted(options.identify(like, signal), signal);
    const had = session.installed.all().filter(({ manager }) => manager === request.manager);
    let place: Promise<Release> | undefined;
    const inPlace = async () => {
      place ??= queue.take(like.owner, { signal });
      await place;
      // The place of aborted work may belong to another installation already.
      signal.throwIfAborted();
    };
    const inTurn =
      <A extends unknown[], R>(work: (...how: A) => Promise<R>) =>
      async (...how: A) => {
        await inPlace();
        return work(...how);
      };
    const { registries } = options;
    const shop: Workshop = {
      ...options,
      // A place only for what needs a builder: what the store has does not wait for others.
      open: inTurn(options.open),
      // SECURITY: the host reads pages for a builder, hundreds for one request. Without a place, a caller could have it read them for any number of sessions.
      registries: {
        ...registries,
        hosts: inTurn(registries.hosts),
        hostsOfProjects: inTurn(registries.hostsOfProjects),
      },
    };
    const work = async () => {
      if (request.manager === 'npm')
        return prepareLayer(shop, await npmPlan(shop, { like, identity, request }, watching), watching);
      const { wanted, upgrade } = request;
      const packages = had.flatMap(({ installed }) => installed);
      // SECURITY: files of a workspace are held in memory until their package is built, and a caller may ask for that a thousand times at once.
      const files = async () => {
        await inPlace();
        return sessionFiles(session);
      };
      return preparePython(shop, { like, identity, had: packages, wanted, upgrade, files }, watching);
    };
    const working = work();
    const release = () => void place?.then((free) => free()).catch(() => {});
    void settledWithin(working, ABORTED_MS, signal).then(release);
    return unlessAborted(working, signal);
  }

  /** Adds layers of the store to a session. They stay in the store until it ends: a sandbox that replaces a lost one gets them again. */
  async function add(session: InstallSession, layers: readonly string[]): Promise<boolean> {
    let needsReset = false;
    for (const key of layers) {
      const use = await begin(session, key);
      if (use === undefined) throw new LayerGone();
      const added = await addOne(session, use).catch(async (error: unknown) => {
        await use.release();
        throw error;
      });
      releaseAfter(session, use);
      needsReset ||= added.superseded.length > 0;
    }
    return needsReset;
  }

  async function addOne({ uniqueId, spec, ended, addLayer }: InstallSession, { tree, manifest }: LayerUse) {
    const its = { session: uniqueId, owner: spec.owner };
    space.add(its, manifest);
    void ended.then(() => space.forget(its));
    return addLayer(tree);
  }

  function begin({ spec, uniqueId }: UsingSession, key: string): Promise<LayerUse | undefined> {
    return options.layers.use(spec.owner, key, spec.persistent === undefined ? undefined : uniqueId);
  }

  /** A persistent session may outlive this server: what it uses is released with its record (`removeLeftovers`). */
  function releaseAfter({ spec, ended }: InstallSession, { release }: LayerUse): void {
    if (spec.persistent === undefined) void ended.then(release).catch(() => {});
  }

  /** Once more, if another server removed a layer between finding and using it. */
  async function prepareAndAdd(session: InstallSession, request: CheckedRequest, watching: InstallWatching) {
    for (let tries = 1; ; tries++) {
      const prepared = await prepare(session, request, watching);
      try {
        const isNew = !isNewest(session, request.manager, prepared);
        return { prepared, isNew, needsReset: await add(session, isNew ? prepared.layers : []) };
      } catch (error) {
        if (!(error instanceof LayerGone) || tries === 2) throw error;
      }
    }
  }

  return {
    async install(session, request, watching = {}) {
      const begun = performance.now();
      const checked = checkRequest(request);
      // SECURITY: builders must not go on for an owner whose token was revoked, or who has closed the session to open the next.
      using closing = closingOf(session.ended);
      const signal = either(closing.signal, watching.signal);
      return await inTurnOf(session.ended, signal, async () => {
        session.installed.requireRoom();
        const { prepared, isNew, needsReset } = await prepareAndAdd(session, checked, { ...watching, signal });
        const done = { manager: checked.manager, ...prepared, needsReset, durationMs: performance.now() - begun };
        if (isNew) await session.installed.add(done);
        if (!prepared.reused) options.onStored();
        return done;
      });
    },
    trees: async (session, layers) => Promise.all(layers.map(async (key) => (await begin(session, key))?.tree)),
  };
}

/** Whether the session got the same layers last: adding them again would change nothing. */
function isNewest({ installed }: InstallSession, manager: Manager, { layers }: Prepared): boolean {
  const last = installed.all().filter((one) => one.manager === manager);
  return layers.length > 0 && last.at(-1)?.layers.join() === layers.join();
}

type InstallWatching = Watching & { readonly signal: AbortSignal };

type UsingSession = Pick<InstallSession, 'spec' | 'uniqueId'>;

class LayerGone extends Error {}

function likeOf({ spec: { owner, image }, isolation: { driver } }: InstallSession): LikeSandbox {
  return { owner, driver, image };
}
