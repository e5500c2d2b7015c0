/**
 * Capabilities of a driver: what its sandboxes support, and what they share. They are the same on every host. Callers
 * check them instead of the driver's name. `test/conformance/proofs/traits.ts` verifies each.
 */
export interface DriverTraits {
  /** Images: `spec.image` decides which programs and files are inside. */
  readonly images: boolean;
  /** Mounts: folders of the host can be bound inside (`spec.mounts`). */
  readonly mounts: boolean;
  /** Persistence: a sandbox can outlive its server (`spec.persistent`), and the driver can `adopt` it. */
  readonly persistence: boolean;
  /**
   * Sharing: sandboxes of one owner may share memory, such as a zygote. A sandbox created ahead of time then needs its
   * owner from the start.
   */
  readonly sharesWithinOwner: boolean;
  /** Descriptors: code can send an open file to another sandbox, over a Unix socket in a folder that both have mounted. */
  readonly passesDescriptors: boolean;
}
