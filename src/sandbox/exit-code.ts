import { constants } from 'node:os';
import { ERROR_CODES } from '../errors/codes.ts';
import type { Outcome } from './outcome.ts';

/** The exit code a shell would see had the program run without a sandbox; `timeout` and the kernel's memory killer set 124 and 137, a shell 127 for a
 * command that is not there. */
export function exitCodeOfOutcome(outcome: Outcome): number {
  switch (outcome.kind) {
    case 'ok':
      return 0;
    case 'raised':
      return 1;
    case 'exited':
      return outcome.exitCode & 0xff;
    case 'timed-out':
      return 124;
    case 'sandbox-lost':
      return ERROR_CODES.sandbox_lost.exitCode;
    case 'unavailable':
      return 127;
    case 'interrupted':
      return 130;
    case 'out-of-memory':
      return 137;
    case 'kernel-died':
      return 128 + (signalNumber(outcome.signal) ?? constants.signals.SIGABRT);
  }
}

/** The name is the guest's word: any text may come. */
function signalNumber(name: string | undefined): number | undefined {
  return new Map<string, number>(Object.entries(constants.signals)).get(name ?? '');
}
