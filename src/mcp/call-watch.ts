import { type McpServer, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';

/**
 * Callbacks of a transport that limits its callers, for one call. It travels as `extra.call` of the SDK's `AuthInfo`.
 */
export interface CallWatch {
  /** Called when a handler begins to answer. `work` settles when the handler has ended, even if the client has left. */
  began(work: Promise<unknown>): void;
  /**
   * Called with the size of the answer before it is encoded. False if the caller may not have another answer of that
   * size.
   */
  mayAnswer(bytes: number): boolean;
  /**
   * Waits for a turn of the caller, to work on so many bytes: to read the output of a program, to encode an answer. The
   * turn ends with the current turn of the event loop. Rejects when the client has left.
   */
  turn(bytes: number): Promise<void>;
}

/** The watch of a call. Absent over stdio, where the server has one client. */
export function callWatchOf(context: ServerContext): CallWatch | undefined {
  return context.http?.authInfo?.extra?.call as CallWatch | undefined;
}

/** The abort reason when the reader of the answer disconnected without cancelling the call. */
export const READER_LEFT = 'the reader of the answer left';

type Handler = (request: unknown, context: ServerContext) => unknown;

/**
 * SECURITY: every handler reports its beginning, its end and the size of its answer to the transport. Limits that end
 * with the caller's connection would not hold for calls whose caller has left.
 */
export function watchCalls({ server }: McpServer): void {
  const set = server.setRequestHandler.bind(server) as (...given: unknown[]) => void;
  server.setRequestHandler = ((...given: unknown[]) => {
    const handler = given.pop() as Handler;
    set(...given, (request: unknown, context: ServerContext) => watched(handler, request, context));
  }) as typeof server.setRequestHandler;
}

function watched(handler: Handler, request: unknown, context: ServerContext): unknown {
  const call = callWatchOf(context);
  if (call === undefined) return handler(request, context);
  const work = (async () => {
    const result = await handler(request, context);
    const size = sizeOf(result);
    if (size > LARGEST_ANSWER_BYTES) throw tooLarge(size);
    if (!call.mayAnswer(size)) throw tooMuch();
    // SECURITY: a dozen answers of megabytes, or a thousand small ones, that are ready at once must not be encoded at
    // once.
    await call.turn(size);
    return result;
  })();
  call.began(work.catch(() => {}));
  return work;
}

/**
 * Size of an answer: the characters of all its strings, including `structuredContent`, `_meta` and embedded resources, and a few
 * for each member.
 */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let chars = 0;
  for (const [key, member] of Object.entries(value))
    chars += (Array.isArray(value) ? 0 : key.length) + MEMBER_CHARS + sizeOf(member);
  return chars;
}

/** Characters per member: quotation marks, a colon, a comma, a short number. */
const MEMBER_CHARS = 6;

/** Maximum size of one answer over HTTP: a file of 10 MiB in base64 fits into it twice. */
export const LARGEST_ANSWER_BYTES = 32 * 1_048_576;

function tooLarge(size: number): ProtocolError {
  const message = `the answer has ${size} bytes, and the limit is ${LARGEST_ANSWER_BYTES}: ask for less of it, or download it by its link`;
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}

function tooMuch(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InternalError,
    'too many of your answers wait to be read: read the answers to your other calls first',
  );
}
