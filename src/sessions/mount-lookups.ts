import { HotcellError } from '../errors/hotcell-error.ts';
import { LookupsBusyError, lookUp, NoAnswerError } from '../lib/lookups.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';

/** A lookup of the folder of a mount. */
export interface MountLookup<T> {
  /** The source as the caller named it. */
  readonly shown: string;
  readonly act: (signal: AbortSignal) => Promise<T>;
  /** Gets a result that came too late. */
  readonly late?: (result: T) => void;
}

/**
 * Looks up the folder of a mount (`lookups.ts`). Rejects with `mount_denied` if its file system does not answer, and
 * with `too_much_in_flight` if earlier lookups do not end.
 */
export async function lookUpMount<T>(owner: string, { shown, act, late }: MountLookup<T>): Promise<T> {
  try {
    return await lookUp(owner, act, late);
  } catch (error) {
    if (error instanceof NoAnswerError)
      throw mountDenied(`${shown}: its file system does not answer`, 'Copy the files that you need.');
    if (!(error instanceof LookupsBusyError)) throw error;
    throw new HotcellError('too_much_in_flight', `${shown}: not looked up, because earlier lookups have not ended`, {
      remedy: 'Try again later.',
    });
  }
}
