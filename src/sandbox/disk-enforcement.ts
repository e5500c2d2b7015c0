import type { Enforcement } from './isolation.ts';
import { type SandboxSpec, WORKSPACE } from './spec.ts';

/** Enforcement of the disk limit. Writable folders of the host have no limit, neither of bytes nor of files. */
export function diskEnforcement({
  mounts,
  workspace = WORKSPACE,
}: Pick<SandboxSpec, 'mounts' | 'workspace'>): Enforcement {
  if (mounts.some(({ target }) => target === workspace))
    return { strength: 'none', by: 'the workspace is a folder of the host' };
  const open = mounts.filter(({ readOnly }) => !readOnly).map(({ target }) => target);
  if (open.length > 0) return { strength: 'none', by: `size of the workspace tmpfs; no limit in ${open.join(', ')}` };
  return { strength: 'hard', by: 'size of the workspace tmpfs' };
}
