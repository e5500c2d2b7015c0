import { HotcellError } from '../errors/hotcell-error.ts';

/** What a server answers to new work while it ends. */
export function shuttingDownError(): HotcellError {
  return new HotcellError('shutting_down', 'the server is shutting down', {
    remedy: 'Retry when it is running again.',
  });
}
