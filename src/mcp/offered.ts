import { isNone } from '../network/session-rules.ts';
import type { McpDeps } from './deps.ts';

/** Whether `set_network` is offered: the ceiling of the owner allows something, or the person can be asked. */
export function maySetNetwork({ asking, owner, config }: Pick<McpDeps, 'asking' | 'owner' | 'config'>): boolean {
  return asking !== undefined || !isNone(owner.network ?? config.network);
}

/** Whether `install_packages` is offered. */
export function mayInstall({ owner }: Pick<McpDeps, 'owner'>): boolean {
  return owner.mayInstall !== false;
}
