import type { HotcellError } from '../errors/hotcell-error.ts';
import type { SessionCore } from '../execution/session-core.ts';
import { isNone, settingList } from '../network/session-rules.ts';
import type { ClosingReason, Feed } from '../telemetry/feed.ts';
import type { CheckedRequest } from './open-request.ts';
import type { Entry } from './openings.ts';
import type { Owner } from './owner.ts';
import { factsOf } from './session-facts.ts';

/** Emits the events of the directory itself: sessions that it opened, closed and refused. */
export interface SessionEvents {
  opened(entry: Entry, request: CheckedRequest, core: SessionCore, durationMs: number): void;
  closed(entry: Entry, why: ClosingReason): void;
  /** `id`: the session as the caller named it. */
  refused(owner: Owner, error: HotcellError, call: { via?: string | undefined; id?: string | undefined }): void;
}

export function createSessionEvents(feed: Pick<Feed, 'emit'>): SessionEvents {
  return {
    opened: (entry, { idleMs, maxAgeMs }, core, durationMs) => {
      const { id, name, via } = entry;
      const policy = { ...policyOf(core), idleMs, maxAgeMs };
      feed.emit({
        ...factsOf(core, entry.owner),
        event: 'session-opened',
        ...defined({ id, name, via }),
        policy,
        durationMs,
      });
    },
    closed: ({ owner, uniqueId, session, isolation }, why) => {
      const driver = session?.driver ?? isolation;
      feed.emit({ event: 'session-closed', owner: owner.id, session: uniqueId, driver, why });
    },
    refused: (owner, { code }, { via, id }) => {
      feed.emit({ event: 'refused', owner: owner.id, ...defined({ via, id }), refusal: code });
    },
  };
}

/** SECURITY: names of environment variables, never their values, which may be secrets. */
function policyOf({ spec: { limits, mounts, image, environment }, network }: SessionCore): Record<string, unknown> {
  return {
    limits,
    ...(isNone(network.setting()) ? {} : { network: settingList(network.setting()) }),
    ...(mounts.length === 0 ? {} : { mounts: mounts.map(({ identity: _, ...mount }) => mount) }),
    ...(image === undefined ? {} : { image }),
    ...(Object.keys(environment).length === 0 ? {} : { environment: Object.keys(environment) }),
  };
}

function defined<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const found = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found) as { [K in keyof T]: Exclude<T[K], undefined> };
}
