import { HotcellError } from '../../errors/hotcell-error.ts';
import type { CreateOptions, Sandbox } from '../../sandbox/driver.ts';
import type { SandboxSpec } from '../../sandbox/spec.ts';

/** `shared`: one jail for many sandboxes of one owner, each in namespaces of its own. `single`: a jail for each. */
export type ProcessShape = 'shared' | 'single';

/** One way to build the sandboxes of this driver. `create` keeps the driver's contract. */
export interface SandboxShape {
  create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox>;
}

/** EPERM, EACCES, EINVAL, ENOSPC (no user namespaces left to give) and ENOSYS; anything else may pass. */
const REFUSALS = [1, 13, 22, 28, 38];

/** A step of closing the sandbox in that this host refused: the sign that its shape cannot be built here. */
export function isRefusal(error: unknown): boolean {
  return error instanceof HotcellError && error.code === 'start_failed' && REFUSALS.includes(Number(error.data.errno));
}
