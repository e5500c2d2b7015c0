import type { HotcellError } from '../errors/hotcell-error.ts';
import type { AuditEntry, AuditSink } from '../telemetry/audit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { type OpenedSession, shortIsolation } from './managed-session.ts';
import type { CheckedRequest } from './open-request.ts';
import type { Entry } from './openings.ts';
import type { Owner } from './owner.ts';

/** `left`: with the server, but its sandbox lives on. */
export type ClosingReason = 'asked' | 'idle' | 'age' | 'shutdown' | 'left';

/** What the directory tells of its decisions. */
export interface Bookkeeping {
  opened(entry: Entry, request: CheckedRequest, opened: OpenedSession, tookMs: number): void;
  closed(entry: Entry, why: ClosingReason): void;
  refused(owner: Owner, error: HotcellError, call: { via?: string | undefined; session?: string | undefined }): void;
}

export function createBookkeeping(audit: AuditSink, metrics: Metrics): Bookkeeping {
  return {
    opened: ({ owner, id, via }, { idleMs, maxAgeMs }, opened, tookMs) => {
      metrics.opened(opened.session.isolation.driver, tookMs / 1000);
      audit.record({
        event: 'session-opened',
        owner: owner.id,
        session: id,
        ...defined({ via }),
        isolation: shortIsolation(opened),
        policy: { ...policyOf(opened), idleMs, maxAgeMs },
        durationMs: Math.round(tookMs),
      });
    },
    closed: ({ owner, id, session, isolation }, why) => {
      metrics.closed(session?.driver ?? isolation, why);
      audit.record({ event: 'session-closed', owner: owner.id, session: id, outcome: why });
    },
    refused: (owner, { code }, { via, session }) => {
      metrics.refused(code);
      audit.record({ event: 'refused', owner: owner.id, ...defined({ via, session }), refusal: code });
    },
  };
}

/** SECURITY: names of environment variables, never their values, which may be secrets. */
function policyOf({ spec: { limits, mounts, image, environment } }: OpenedSession): Record<string, unknown> {
  return {
    limits,
    ...(mounts.length === 0 ? {} : { mounts: mounts.map(({ identity: _, ...mount }) => mount) }),
    ...(image === undefined ? {} : { image }),
    ...(Object.keys(environment).length === 0 ? {} : { environment: Object.keys(environment) }),
  };
}

function defined(fields: {
  via?: string | undefined;
  session?: string | undefined;
}): Pick<AuditEntry, 'via' | 'session'> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
