import { toHotcellError } from '../errors/hotcell-error.ts';
import type { AuditSink } from './audit.ts';

/** Does `check`, and puts down what it refuses. For what is decided before the directory of sessions, which keeps its books itself, hears of it. */
export function audited<T>(audit: AuditSink, call: { owner: string; via: string }, check: () => T): T {
  try {
    return check();
  } catch (thrown) {
    audit.record({ event: 'refused', ...call, refusal: toHotcellError(thrown).code });
    throw thrown;
  }
}
