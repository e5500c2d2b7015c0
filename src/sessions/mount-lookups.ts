import { lookUp, NoAnswerError } from '../lib/lookups.ts';
import { mountDenied } from '../sandbox/mount-denied.ts';

/** Looks up the folder of a mount (`lookups.ts`). Rejects with `mount_denied` if its file system does not answer. */
export async function lookUpMount<T>(shown: string, act: () => Promise<T>, late?: (result: T) => void): Promise<T> {
  try {
    return await lookUp(act, late);
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    throw mountDenied(`${shown}: its file system does not answer`, 'Copy the files that you need.');
  }
}
