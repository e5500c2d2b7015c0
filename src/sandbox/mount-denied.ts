import { HotcellError } from '../errors/hotcell-error.ts';

export function mountDenied(message: string, remedy?: string): HotcellError {
  return new HotcellError('mount_denied', message, remedy === undefined ? {} : { remedy });
}

/** The folder is not, or no longer, the one that was checked. */
export function exchanged(what: string): HotcellError {
  return mountDenied(
    `${what}: it was replaced by another folder after the check`,
    'Open a new session. If it happens again, find the program that replaces the folder, or a folder above it.',
  );
}
