import { HotcellError } from '../errors/hotcell-error.ts';
import type { Manager, SupersededPackage, VersionedPackage } from '../sessions/installation.ts';
import { type LaterBuilder, laterBuilder, type OpenedBuilder } from './builder/open-builder.ts';
import { contentKey } from './content-key.ts';
import type { Prepared } from './prepared.ts';
import { storeLayer } from './store-layer.ts';
import type { Watching, Workshop } from './workshop.ts';

/** How packages of one manager become a layer. `B` describes what they are installed for, `L` is a lock. */
export interface LayerPlan<B, L> {
  readonly manager: Manager;
  readonly owner: string;
  /** Identity of the files that the session began with, by which its description is kept. */
  readonly identity: string | undefined;
  /** The image that locks and layers of this plan are for (`imageOf`). */
  readonly image: string | undefined;
  /** Whether a lock of the last day is not used. */
  readonly upgrade: boolean;
  /** Opens a new builder that reaches the registries. */
  open(): Promise<OpenedBuilder>;
  /** Puts the manager into a builder. Called once for each, before `resolve` or `build`. Returns the variables to run it with. */
  equip(builder: OpenedBuilder, base: B): Promise<Record<string, string>>;
  /** SECURITY: called first in a builder, before any code of a package can have run. */
  describe(builder: OpenedBuilder): Promise<string>;
  /** Undefined if the text is no such description. */
  parseBase(text: string): B | undefined;
  /** Everything that decides about the lock. */
  asked(base: B): unknown;
  parseLock(json: string): L | undefined;
  resolve(builder: EquippedBuilder, base: B): Promise<L>;
  /** The part of the lock that the session lacks. */
  lacking(base: B, lock: L): Lacking<L>;
  /** Everything that decides about the files of the layer. */
  content(base: B, lock: L): unknown;
  /** Installs a lock, and returns the packed layer. */
  build(builder: EquippedBuilder, base: B, lock: L): Promise<AsyncIterable<Buffer>>;
}

/** A builder with its manager, and the variables to run that with. */
export interface EquippedBuilder extends OpenedBuilder {
  readonly environment: Record<string, string>;
}

export interface Lacking<L> {
  readonly lock: L;
  readonly packages: readonly VersionedPackage[];
  readonly present: readonly VersionedPackage[];
  readonly superseded: readonly SupersededPackage[];
}

/** Prepares a layer: one of the store, or a new one that is resolved and built. */
export async function prepareLayer<B, L>(
  shop: Workshop,
  plan: LayerPlan<B, L>,
  { signal, onProgress }: Watching,
): Promise<Prepared> {
  const { manager, owner } = plan;
  await using resolver = laterBuilder(() => plan.open());
  await using installer = laterBuilder(() => plan.open());
  let builderOfLayer: Promise<EquippedBuilder> | undefined;
  const base = await baseOf(shop, plan, resolver);
  const its = plan.image === undefined ? [] : [plan.image];
  const asked = contentKey(['request', 1, manager, plan.asked(base), ...its]);
  const known = plan.upgrade ? undefined : await shop.locks.find(owner, asked);
  const lock = (known === undefined ? undefined : plan.parseLock(known)) ?? (await resolve());
  const { lock: missing, packages: installed, present, superseded } = plan.lacking(base, lock);
  if (installed.length === 0) return { layers: [], installed, present, superseded, reused: true };
  const key = contentKey(['layer', 1, manager, plan.content(base, missing), ...its]);
  const reused = (await shop.layers.find(owner, key)) !== undefined;
  if (!reused) await build();
  return { layers: [key], installed, present, superseded, reused };

  async function equipped(opened: OpenedBuilder): Promise<EquippedBuilder> {
    return { ...opened, environment: await plan.equip(opened, base) };
  }

  function equippedInstaller(): Promise<EquippedBuilder> {
    builderOfLayer ??= installer.get().then(equipped);
    return builderOfLayer;
  }

  async function resolve(): Promise<L> {
    onProgress?.('resolving');
    const opened = await resolver.get();
    // A request without a lock rarely has a layer: the builder of the layer starts meanwhile.
    installer.get().catch(() => {});
    const ready = await equipped(opened);
    // Not before: the manager is fetched once.
    equippedInstaller().catch(() => {});
    const found = await plan.resolve(ready, base);
    await shop.locks.keep(owner, asked, JSON.stringify(found));
    return found;
  }

  /**
   * SECURITY: in a new builder. Where the lock was made, a build script may have run, and could change what is installed there. What is in a layer must depend on
   * its lock alone, because later requests find it by the lock.
   */
  async function build(): Promise<void> {
    onProgress?.(`installing ${installed.length} ${installed.length === 1 ? 'package' : 'packages'}`);
    const builder = await equippedInstaller();
    const pack = () => plan.build(builder, base, missing);
    await storeLayer(shop, { owner, key, manager, packages: installed }, pack, signal);
  }
}

/** Describes what packages are installed for: from the store, or in a builder. */
export async function baseOf<B>(
  shop: Workshop,
  plan: Pick<LayerPlan<B, unknown>, 'manager' | 'identity' | 'describe' | 'parseBase'>,
  builder: LaterBuilder,
): Promise<B> {
  const { manager, identity } = plan;
  const known = identity === undefined ? undefined : await shop.bases.find(`${manager} ${identity}`);
  const kept = known === undefined ? undefined : plan.parseBase(known);
  if (kept !== undefined) return kept;
  const text = await plan.describe(await builder.get());
  const found = plan.parseBase(text);
  if (found === undefined) throw new HotcellError('install_failed', 'the sandbox cannot be described');
  if (identity !== undefined) await shop.bases.keep(`${manager} ${identity}`, text);
  return found;
}
