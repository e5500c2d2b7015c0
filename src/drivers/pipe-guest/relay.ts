import type { Duplex } from 'node:stream';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { aborted } from '../../lib/abort.ts';
import { takeFirstLine } from './first-line.ts';

/**
 * The way to a guest that outlives its server. The pipe that it came through cannot be that: half a frame may be stuck in it, and two servers can attach
 * at once. So the guest listens on a socket of its own, and each channel is a small program beside it, the relay, that passes bytes on. How the relay is
 * started in the sandbox is up to the driver.
 */
const NAME = '@hotcell';
/** The first line of a relay that has reached the guest. */
const GREETING = 'hotcell relay';
const NOBODY_LISTENS = 'hotcell: the guest does not listen';

/** SECURITY: the user of relays is no person, and no sandbox has it. */
export const RELAY_UID = 61_112;

/** What the guest is started with. SECURITY: nothing in the sandbox can become the relay's user, and the guest hears no other (guest/hotcell_guest/wire/listening.py). */
export const LISTEN_ARGUMENTS = ['--listen', NAME, '--peer-uid', String(RELAY_UID)] as const;

/**
 * The command of a relay, to be run as `RELAY_UID`. `python` is the interpreter that the guest was started with. SECURITY: a search path may have a folder in
 * which programs of the sandbox write.
 */
export function relayCommand(python: string): string[] {
  return [python, '-I', '-S', '-c', bootstrapProgram('relay'), NAME.slice(1), GREETING, NOBODY_LISTENS];
}

/** Resolves when the relay has reached the guest. Rejects with what came instead: of a relay that could not start, words of whoever was to start it, or none. */
export async function takeGreeting(channel: Duplex, signal: AbortSignal): Promise<void> {
  const greeting = takeFirstLine(channel, (line) => (line === GREETING ? line : undefined));
  await Promise.race([greeting, aborted(signal)]);
}

/** Whether a relay says, on standard error, that the guest is gone. */
export function saysNobodyListens(stderr: string): boolean {
  return stderr.includes(NOBODY_LISTENS);
}
