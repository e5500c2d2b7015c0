import type { ManagedSession } from '../directory/directory.ts';
import type { McpDeps } from './deps.ts';

/** The session that a call may open by naming none, where there is no default one: its id is known to nobody until the reply says it. */
export interface UnnamedSession {
  /** What the handler is given. */
  readonly deps: McpDeps;
  /** For the text of the reply: a model may see nothing else. */
  note(): string | undefined;
  /** Nobody will hear of it, and nobody could find it again: it is closed. */
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
      opened === undefined ? undefined : `A new session: ${opened.id}. Pass it as session_id to go on in it.`,
    abandon: async () => {
      if (opened !== undefined) await directory.close(owner, opened.id).catch(() => {});
    },
  };
}
