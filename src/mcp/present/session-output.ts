import * as z from 'zod';
import type { ManagedSession } from '../../directory/directory.ts';
import { isNone, settingList, settingText } from '../../network/session-rules.ts';
import { variableOf } from '../../network/upstreams/listeners.ts';

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
  network: z.array(z.string()).optional().describe('Hosts that its code may reach; absent: none'),
  services: z
    .array(z.string())
    .optional()
    .describe('Upstreams of the operator, each at the address in its variable HOTCELL_SERVICE_…; absent: none'),
  packages: z
    .array(z.string())
    .optional()
    .describe('Packages installed into it, with versions, oldest first; absent: none'),
  executions: z.number().int().describe('Number of executions whose results are kept'),
});
export type SessionOutput = z.infer<typeof sessionOutput>;

export function sessionStructured(managed: ManagedSession): SessionOutput {
  const { driver, level, passedOver } = managed.session.isolation;
  const setting = managed.session.network.setting();
  const services = managed.session.network.services();
  const packages = packagesOf(managed);
  return {
    session_id: managed.id,
    ...(managed.name === undefined ? {} : { name: managed.name }),
    state: managed.state(),
    isolation: { driver, level, passed_over: passedOver.map(({ driver, reason }) => ({ driver, reason })) },
    opened_at: managed.openedAt.toISOString(),
    last_used_at: managed.lastUsedAt().toISOString(),
    expires_at: managed.expiresAt().toISOString(),
    ...(managed.isPersistent ? { persistent: true } : {}),
    ...(isNone(setting) ? {} : { network: [...settingList(setting)] }),
    ...(services.length === 0 ? {} : { services: [...services] }),
    ...(packages.length === 0 ? {} : { packages }),
    executions: managed.executions().length,
  };
}

/** SECURITY: bounded, because a program in the session can install as often as it likes. */
const MOST_PACKAGES = 200;
const MOST_SHOWN = 10;

function packagesOf({ session }: ManagedSession): string[] {
  const all = session
    .installations()
    .flatMap(({ manager, installed }) =>
      installed.map(({ name, version }) => `${name}${manager === 'npm' ? '@' : '=='}${version}`),
    );
  return all.slice(-MOST_PACKAGES);
}

function listed(packages: readonly string[]): string {
  const more = packages.length - MOST_SHOWN;
  return `${packages.slice(-MOST_SHOWN).join(' ')}${more > 0 ? ` and ${more} before them` : ''}`;
}

/** A session as one line of text. */
export function sessionText(session: SessionOutput): string {
  const { session_id, name, state, isolation, expires_at, persistent, network, services, packages } = session;
  const weaker = isolation.passed_over.map(({ driver }) => driver).join(', ');
  const called = name === undefined ? session_id : `${session_id} (${name})`;
  const hosts = network === undefined ? '' : `network ${settingText(network)}, `;
  const named = services?.map((name) => `${name} at $${variableOf(name)}`) ?? [];
  const reach = `${hosts}${named.length === 0 ? '' : `services ${named.join(', ')}, `}`;
  return `${called}: ${state}, isolation ${isolation.driver} (level ${isolation.level}${weaker === '' ? '' : `; not available here: ${weaker}`}), ${reach}${packages === undefined ? '' : `packages ${listed(packages)}, `}${persistent === true ? 'survives a restart of the server, ' : ''}closes ${expires_at} if unused`;
}
