import { HotcellError } from '../../errors/hotcell-error.ts';
import { createEventScan, createJsonScan, excessIn, JSON_LIMITS } from '../../lib/json-limits.ts';

/** SECURITY: limits on a server's answers. It may be hostile, or another program at a mistyped address. */
export interface ServerLimits {
  /** Timeout until the answer begins. */
  readonly headersMs: number;
  /** Timeout between two pieces of an answer. A Hotcell that runs code sends a keep-alive every 15 seconds. */
  readonly idleMs: number;
  /** Maximum size of an answer that is read whole. */
  readonly replyBytes: number;
  /** Maximum of JSON members and elements in such an answer. Hotcell's own have some hundred. */
  readonly replyElements: number;
}

export const SERVER_LIMITS: ServerLimits = {
  ...{ headersMs: 60_000, idleMs: 60_000 },
  ...{ replyBytes: 64 * 1_048_576, replyElements: 50_000 },
};

const LARGEST_ERROR_BYTES = 65_536;

/** Requests to one server, bounded in time and size. */
export interface ServerRequests {
  /**
   * Like `fetch`, but a redirect is an error. SECURITY: a redirect would take the token, or code, to another server.
   */
  fetch(url: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Like `fetch`, for answers that are read whole: exceeding `idleMs`, `replyBytes` or `replyElements` is an error too.
   */
  fetchBounded(url: string | URL, init?: RequestInit): Promise<Response>;
  /**
   * Aborted with the error when an answer of `fetchBounded` exceeded a limit. Without it the MCP client would go on
   * waiting, and reconnect.
   */
  readonly misbehaviour: AbortSignal;
  /** The body in pieces, with a timeout for each. */
  pieces(response: Response): AsyncGenerator<Uint8Array>;
  /** The body as JSON; undefined if it is not JSON, or larger than `mostBytes`. */
  jsonBody(response: Response, mostBytes: number): Promise<unknown>;
  /** The body of an error as JSON. */
  errorBody(response: Response): Promise<unknown>;
  /** Stops all waiting, so that answers that were not read to their end do not keep the process alive. */
  close(): void;
}

export function createServerRequests(base: URL, limits: ServerLimits): ServerRequests {
  const misbehaviour = new AbortController();
  const timers = new Set<NodeJS.Timeout>();

  async function request(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(silent(base, limits.headersMs)), limits.headersMs);
    const signal = init.signal ? AbortSignal.any([late.signal, init.signal]) : late.signal;
    try {
      const response = await fetch(url, { ...init, redirect: 'manual', signal });
      if (response.status < 300 || response.status >= 400) return response;
      await response.body?.cancel();
      throw misbehaved(base, 'redirects to another address', 'Check the address: `hotcell serve` prints it.');
    } finally {
      clearTimeout(timer);
    }
  }

  async function* pieces({ body }: Response): AsyncGenerator<Uint8Array> {
    if (body === null) return;
    const reader = body.getReader();
    try {
      for (;;) {
        // The timeout runs only during a read: a slow reader on this side is not the server's fault.
        const { done, value } = await inTime(reader.read(), limits.idleMs, {
          timers,
          error: () => silent(base, limits.idleMs),
        });
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  async function* bounded(reply: AsyncIterable<Uint8Array>, isJson: boolean): AsyncGenerator<Uint8Array> {
    // SECURITY: checked before parsing. A parsed list costs fifty times its bytes, and a schema keeps an error for
    // every wrong element.
    const most = { members: limits.replyElements, levels: JSON_LIMITS.levels };
    const excessWith = isJson ? createJsonScan(most) : createEventScan(most);
    let size = 0;
    try {
      for await (const piece of reply) {
        size += piece.length;
        if (size > limits.replyBytes) throw misbehaved(base, `sent more than ${limits.replyBytes} bytes`);
        const excess = excessWith(Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString('latin1'));
        if (excess !== undefined) throw misbehaved(base, `sent ${excess}`);
        yield piece;
      }
    } catch (error) {
      if (error instanceof HotcellError) misbehaviour.abort(error);
      throw error;
    }
  }

  async function jsonBody(response: Response, mostBytes: number): Promise<unknown> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const piece of pieces(response)) {
      size += piece.length;
      if (size > mostBytes) return undefined;
      parts.push(piece);
    }
    try {
      const text = Buffer.concat(parts).toString('utf8');
      return excessIn(text) === undefined ? JSON.parse(text) : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    fetch: request,
    async fetchBounded(url, init) {
      // SECURITY: the MCP client would read notifications without a limit, and the CLI needs none. It takes this answer
      // for a server without notifications.
      if (init?.method === 'GET') {
        const isContinued = new Headers(init.headers).has('last-event-id');
        if (isContinued) misbehaviour.abort(misbehaved(base, 'aborted a response', 'Check the server, and retry.'));
        return new Response(null, { status: 405 });
      }
      const response = await request(url, init);
      if (response.body === null) return response;
      const isJson = /^\s*application\/json\s*(;|$)/i.test(response.headers.get('content-type') ?? '');
      return new Response(ReadableStream.from(bounded(pieces(response), isJson)), response);
    },
    misbehaviour: misbehaviour.signal,
    pieces,
    jsonBody,
    errorBody: (response) => jsonBody(response, LARGEST_ERROR_BYTES),
    close: () => {
      for (const timer of timers) timer.unref();
    },
  };
}

/** The error for an answer that no Hotcell would send. */
export function misbehaved(
  base: URL,
  what: string,
  remedy = 'Check that it is a Hotcell server of the same version.',
): HotcellError {
  return new HotcellError('server_misbehaved', `${base.origin} ${what}`, { remedy });
}

function silent(base: URL, limitMs: number): HotcellError {
  return misbehaved(base, `sent nothing for ${Math.round(limitMs / 1000)} s`, 'Check the server, and retry.');
}

async function inTime<T>(
  work: Promise<T>,
  limitMs: number,
  { timers, error }: { timers: Set<NodeJS.Timeout>; error: () => HotcellError },
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(error()), limitMs);
    timers.add(timer);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    timers.delete(timer!);
  }
}
