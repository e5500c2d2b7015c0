import { HotcellError } from '../../errors/hotcell-error.ts';
import type { CreateOptions, Sandbox } from '../../sandbox/driver.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';

/** `shared`: one jail for many sandboxes of one owner, each in its own namespaces. `single`: a jail each. */
export type ProcessShape = 'shared' | 'single';

/** A way to create the sandboxes of this driver. `create` keeps the driver's contract. */
export interface SandboxShape {
  create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox>;
}

/** EPERM, EACCES, EINVAL, ENOSPC (no user namespaces left) and ENOSYS; other errors may be temporary. */
const REFUSALS = [1, 13, 22, 28, 38];

/** Whether this host refused a step of the isolation, so that the shape cannot be built here. */
export function isRefusal(error: unknown): boolean {
  return error instanceof HotcellError && error.code === 'start_failed' && REFUSALS.includes(Number(error.data.errno));
}
