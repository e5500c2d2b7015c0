import { HotcellError } from '../errors/hotcell-error.ts';

/** The error for new work while the server shuts down. */
export function shuttingDownError(): HotcellError {
  return new HotcellError('shutting_down', 'the server is shutting down', {
    remedy: 'Retry when it is running again.',
  });
}
