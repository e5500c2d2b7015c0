import { HotcellError } from '../errors/hotcell-error.ts';

/** Sessions of one owner: all of them, and those that still wait to be opened. */
export interface Holding {
  readonly sessions: number;
  readonly waiting: number;
}

export type Admission =
  | { readonly kind: 'admitted' }
  /** There is room if the last waiting opening of that owner, who has more sessions, is dropped. */
  | { readonly kind: 'displaces'; readonly owner: string }
  | { readonly kind: 'refused'; readonly error: HotcellError };

/**
 * Whether an owner may open one more session. A full server refuses, with one exception: if openings are waiting, an
 * owner with at least two sessions fewer than another displaces one of that owner's waiting openings. So a hundred
 * openings of one owner leave room for the first of another.
 */
export function admit(
  owner: { readonly id: string; readonly quota: number },
  holdings: ReadonlyMap<string, Holding>,
  limit: number,
): Admission {
  const mine = holdings.get(owner.id)?.sessions ?? 0;
  if (mine >= owner.quota) {
    return refused(`you have ${mine} sessions, which is your limit`, 'Close one, or use one that is open.');
  }
  const total = [...holdings.values()].reduce((sum, { sessions }) => sum + sessions, 0);
  if (total < limit) return { kind: 'admitted' };
  const [richest] = [...holdings]
    .filter(([, { sessions, waiting }]) => waiting > 0 && sessions > mine + 1)
    .sort(([, a], [, b]) => b.sessions - a.sessions);
  if (richest !== undefined) return { kind: 'displaces', owner: richest[0] };
  return refused(
    `${limit} sessions are open on this server, which is the limit`,
    mine === 0 ? 'Try again in a while, or raise maxSessions.' : 'Close one of yours, or raise maxSessions.',
  );
}

/**
 * Refuses a session whose memory limit exceeds the rest of its owner's quota. Limits are summed, not usage, because
 * each session may use its limit.
 */
export function requireMemory(
  quotaBytes: number,
  theirs: readonly { readonly memoryBytes: number }[],
  asked: { readonly memoryBytes: number },
): void {
  const held = theirs.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  if (held + asked.memoryBytes <= quotaBytes) return;
  const [left, wanted, all] = [Math.max(0, quotaBytes - held), asked.memoryBytes, quotaBytes].map(inMiB);
  throw new HotcellError(
    'too_much_memory',
    `${wanted} MiB of memory requested, but only ${left} of your ${all} MiB are left`,
    {
      remedy:
        'Close a session, or ask for less memory. The operator of the server can raise the limit with --max-memory-per-owner.',
    },
  );
}

/** Whether one more session, or a sandbox that counts as one, is within an owner's quotas. */
export function fitsQuotas(
  quotas: { readonly sessions: number; readonly memoryBytes: number },
  held: { readonly sandboxes: number; readonly memoryBytes: number },
  askedBytes: number,
): boolean {
  return held.sandboxes < quotas.sessions && held.memoryBytes + askedBytes <= quotas.memoryBytes;
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / 1_048_576);
}

export function displaced(): HotcellError {
  return new HotcellError('too_many_sessions', 'the server is full, and others have fewer sessions than you', {
    remedy: 'Use an open session, or retry later.',
  });
}

function refused(message: string, remedy: string): Admission {
  return { kind: 'refused', error: new HotcellError('too_many_sessions', message, { remedy }) };
}
