import type { Duplex } from 'node:stream';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { unlessAborted } from '../../lib/abort.ts';
import { takeFirstLine } from './first-line.ts';

/**
 * The abstract socket of a guest that outlives its server. The original pipe cannot be reused: a partial frame may be
 * stuck in it, and two servers can attach at once. So the guest listens on a socket, and each channel is a small
 * program in the sandbox, the relay, that forwards bytes. The driver decides how the relay is started.
 */
const NAME = '@hotcell';
/** The first line of a relay that is connected to the guest. */
const GREETING = 'hotcell relay';
const NOBODY_LISTENS = 'hotcell: the guest does not listen';

/** SECURITY: the uid of relays belongs to no person and to no sandbox. */
export const RELAY_UID = 61_112;

/**
 * The guest's arguments. SECURITY: nothing in the sandbox can get the relay's uid, and the guest accepts no other peer
 * (guest/hotcell_guest/wire/listening.py).
 */
export const LISTEN_ARGUMENTS = ['--listen', NAME, '--peer-uid', String(RELAY_UID)] as const;

/**
 * The command of a relay, to be run as `RELAY_UID`. `python` is the absolute path of the guest's interpreter. SECURITY:
 * a lookup on the search path could find a program that the sandbox has written.
 */
export function relayCommand(python: string): string[] {
  return [python, '-I', '-S', '-c', bootstrapProgram('relay'), NAME.slice(1), GREETING, NOBODY_LISTENS];
}

/**
 * Resolves when the relay is connected to the guest. Rejects with the received text otherwise, for example the engine's
 * message if the relay could not start.
 */
export async function takeGreeting(channel: Duplex, signal: AbortSignal): Promise<void> {
  const greeting = takeFirstLine(channel, (line) => (line === GREETING ? line : undefined));
  await unlessAborted(greeting, signal);
}

/** Whether a relay reports, on standard error, that no guest listens. */
export function saysNobodyListens(stderr: string): boolean {
  return stderr.includes(NOBODY_LISTENS);
}
