import type { SessionCore } from '../execution/session-core.ts';
import type { SessionOpened } from '../telemetry/feed.ts';

/** Members that every event of one session has. */
export type SessionFacts = Pick<SessionOpened, 'owner' | 'session' | 'isolation'>;

export function factsOf(core: SessionCore, owner: { readonly id: string }): SessionFacts {
  const { driver, level, shape } = core.isolation;
  return { owner: owner.id, session: core.uniqueId, isolation: { driver, level, shape } };
}
