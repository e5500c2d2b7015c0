import type { ManagedSession } from '../directory/directory.ts';
import type { McpDeps } from './deps.ts';

/**
 * The session that a call without session_id opens where there is no default session. The client learns its id from the
 * reply.
 */
export interface UnnamedSession {
  /** The dependencies for the handler; they record the session. */
  readonly deps: McpDeps;
  /** A line for the text of the reply: some clients show a model nothing else. */
  note(): string | undefined;
  /** Closes the session after a failure: without a reply the client does not know its id. */
  abandon(): Promise<void>;
}

export function watchUnnamed(deps: McpDeps): UnnamedSession {
  const { directory, owner } = deps;
  if (owner.isAnonymous !== true) return { deps, note: () => undefined, abandon: async () => {} };
  let opened: ManagedSession | undefined;
  const use: typeof directory.use = async (asking, id, options) => {
    const managed = await directory.use(asking, id, options);
    if (id === undefined) opened = managed;
    return managed;
  };
  return {
    deps: { ...deps, directory: { ...directory, use } },
    note: () =>
      opened === undefined
        ? undefined
        : `Opened session ${opened.id}. Pass this session_id to later calls to continue in it.`,
    abandon: async () => {
      if (opened !== undefined) await directory.close(owner, opened.id).catch(() => {});
    },
  };
}
