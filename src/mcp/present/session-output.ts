import * as z from 'zod';
import type { ManagedSession } from '../../directory/directory.ts';

/** A session as data. */
export const sessionOutput = z.object({
  session_id: z.string(),
  name: z.string().optional(),
  state: z.string().describe('idle, busy, …'),
  isolation: z.object({
    driver: z.string(),
    level: z.number(),
    passed_over: z
      .array(z.object({ driver: z.string(), reason: z.string() }))
      .describe('Stronger drivers that do not work on this machine'),
  }),
  opened_at: z.string(),
  last_used_at: z.string(),
  expires_at: z.string().describe('When the session is closed if unused'),
  persistent: z.boolean().optional().describe('The session survives a restart of the server'),
  executions: z.number().int().describe('Number of executions whose results are kept'),
});
export type SessionOutput = z.infer<typeof sessionOutput>;

export function sessionStructured(managed: ManagedSession): SessionOutput {
  const { driver, level, passedOver } = managed.session.isolation;
  return {
    session_id: managed.id,
    ...(managed.name === undefined ? {} : { name: managed.name }),
    state: managed.state(),
    isolation: { driver, level, passed_over: passedOver.map(({ driver, reason }) => ({ driver, reason })) },
    opened_at: managed.openedAt.toISOString(),
    last_used_at: managed.lastUsedAt().toISOString(),
    expires_at: managed.expiresAt().toISOString(),
    ...(managed.isPersistent ? { persistent: true } : {}),
    executions: managed.executions().length,
  };
}

/** A session as one line of text. */
export function sessionText({ session_id, name, state, isolation, expires_at, persistent }: SessionOutput): string {
  const weaker = isolation.passed_over.map(({ driver }) => driver).join(', ');
  const called = name === undefined ? session_id : `${session_id} (${name})`;
  return `${called}: ${state}, isolation ${isolation.driver} (level ${isolation.level}${weaker === '' ? '' : `; not available here: ${weaker}`}), ${persistent === true ? 'survives a restart of the server, ' : ''}closes ${expires_at} if unused`;
}
