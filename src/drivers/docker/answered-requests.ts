import type Docker from 'dockerode';

/** Time for a request without a signal of its own. */
const REQUEST_MS = 30_000;

/**
 * Lets each request of a client come to an end. docker-modem waits for the end of a response that has begun, also when
 * the engine went away in the middle of it, and then not even an abort is heard. `POST /containers/x/wait` begins its
 * response at once, so the promise of a sandbox's end would stay pending for ever, and with it `close`.
 */
export function answeredRequests(docker: Docker, requestMs = REQUEST_MS): Docker {
  const modem = docker.modem as unknown as { dial: Dial };
  const dial = modem.dial.bind(modem);
  modem.dial = (options, callback) => {
    const abortSignal = options.abortSignal ?? AbortSignal.timeout(requestMs);
    let isAnswered = false;
    const answer: Answer = (error, data) => {
      if (isAnswered) return;
      isAnswered = true;
      abortSignal.removeEventListener('abort', onAbort);
      callback(error, data);
    };
    // The modem comes first: it knows the request, and destroys it.
    const onAbort = () => setImmediate(() => answer(abortSignal.reason as Error));
    abortSignal.addEventListener('abort', onAbort, { once: true });
    dial({ ...options, abortSignal }, answer);
    if (abortSignal.aborted) onAbort();
  };
  return docker;
}

type Answer = (error: Error | null, data?: unknown) => void;
type Dial = (options: { readonly abortSignal?: AbortSignal }, callback: Answer) => void;
