import { HotcellError } from '../errors/hotcell-error.ts';

export function mountDenied(message: string, remedy?: string): HotcellError {
  return new HotcellError('mount_denied', message, remedy === undefined ? {} : { remedy });
}

/** A folder is not, or no longer, the one that was checked. */
export function exchanged(what: string): HotcellError {
  return mountDenied(
    `${what}: another folder has taken its place since it was checked`,
    'Open a new session. If it happens again, find out which program exchanges the folder, or a folder above it.',
  );
}
