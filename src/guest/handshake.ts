import { HotcellError } from '../errors/hotcell-error.ts';
import { type Frame, type Head, ProtocolViolation } from '../lib/frames.ts';
import { saidInside } from '../lib/said-inside.ts';
import type { GuestConfig } from '../sandbox/guest-config.ts';
import { exchanged } from '../sandbox/mount-denied.ts';
import { typeOf } from './describe-violation.ts';
import { refusedMessage, type Welcome, welcomeMessage } from './messages.ts';

export interface Handshake {
  /** Number of the connection attempt, from 1; after a takeover, the guest's own count. */
  readonly epoch: number;
  /** Configuration of the guest. Absent for a takeover. */
  readonly config: GuestConfig | undefined;
}

/** The first message of the host on a channel (docs/guest-protocol.md, section 2). */
export function helloMessage({ epoch, config }: Handshake): Head {
  return { type: 'hello', protocols: [1], ...introduction({ epoch, config }) };
}

function introduction({ epoch, config }: Handshake): Record<string, unknown> {
  if (epoch > 1) return { epoch };
  return config === undefined ? { epoch: 0, fresh: true } : { epoch, config };
}

/**
 * Reads the guest's answer to `hello`: its welcome, or the error of its refusal. Throws a ProtocolViolation for any
 * other frame.
 */
export function readAnswer({ head }: Frame, { epoch, config }: Handshake): Welcome | HotcellError {
  if (head.type === 'refused') return refusal(head, { epoch, config });
  if (head.type !== 'welcome') throw new ProtocolViolation(`type: ${typeOf({ head })} before welcome`);
  const welcome = welcomeMessage.parse(head);
  // In a takeover only the guest knows how many connections it has had.
  const isTakeover = epoch === 1 && config === undefined;
  if (!isTakeover && welcome.epoch !== epoch) throw new ProtocolViolation(`epoch: ${welcome.epoch} is not ${epoch}`);
  return welcome;
}

function refusal(head: Head, { epoch, config }: Handshake): HotcellError {
  const { reason, code: why } = refusedMessage.parse(head);
  // SECURITY: believed only if the guest was asked to compare. It has no other way to claim that the host's folders
  // were exchanged.
  const wasAskedToCompare = epoch === 1 && config?.mounts !== undefined;
  if (why === 'mount-exchanged' && wasAskedToCompare) return exchanged('a mounted folder');
  // A takeover fails where the previous server was killed before it had configured the guest: there is no session to
  // take over.
  const code = config === undefined ? 'sandbox_lost' : 'guest_misbehaved';
  return new HotcellError(code, `the guest refused the connection: ${saidInside(reason)}`, {
    remedy: 'Open a new session.',
  });
}
