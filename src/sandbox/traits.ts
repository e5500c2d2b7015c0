/**
 * Capabilities of a driver: what its sandboxes can be asked for, and what they share. They are the same on every host, and callers ask for them
 * instead of the driver's name. `test/conformance/proofs/traits.ts` verifies each.
 */
export interface DriverTraits {
  /** Images: `spec.image` decides which programs and files are inside. */
  readonly images: boolean;
  /** Mounts: folders of the host can be bound inside (`spec.mounts`). */
  readonly mounts: boolean;
  /** Persistence: a sandbox can outlive its server (`spec.persistent`), and the driver can `adopt` it. */
  readonly persistence: boolean;
  /** Sharing: sandboxes of one owner may have memory in common, such as a zygote. One that is made ahead of time needs its owner from the start. */
  readonly sharesWithinOwner: boolean;
  /** Descriptors: code can send an open file to another sandbox, over a Unix socket in a folder that both have mounted. */
  readonly passesDescriptors: boolean;
}
