import type { ErrorCode } from '../errors/codes.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import { saidInside } from '../lib/said-inside.ts';
import { GuestRefusal } from './pending-requests.ts';

/**
 * For `catch`: turns a GuestRefusal into a HotcellError. A GuestRefusal never leaves `src/guest` and `src/execution`.
 */
export function rethrowAsOurs(error: unknown): never {
  throw error instanceof GuestRefusal ? refusalError(error) : error;
}

export function refusalError(refusal: GuestRefusal): HotcellError {
  return new HotcellError(
    CODES.get(refusal.code) ?? 'guest_misbehaved',
    saidInside(refusal.message.replace(/^variables\.\w{1,20}: /, '')),
  );
}

// SECURITY: a Map, because the guest chooses the key, which may be `__proto__` or `constructor`.
const CODES: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>(
  Object.entries({
    busy: 'session_busy',
    io: 'file_failed',
    cancelled: 'cancelled',
    raised: 'evaluation_failed',
    'bad-request': 'invalid_argument',
    'kernel-lost': 'kernel_lost',
    'no-kernel': 'kernel_unavailable',
    'no-package': 'package_missing',
    'no-space': 'disk_full',
    'no-variable': 'variable_not_found',
    'not-offered': 'not_offered',
    'too-long': 'answer_timeout',
  }),
);
