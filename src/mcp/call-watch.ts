import { type McpServer, ProtocolError, ProtocolErrorCode, type ServerContext } from '@modelcontextprotocol/server';

/** What a transport that limits its callers is told about one of their calls. It travels as `extra.call` of the SDK's `AuthInfo`. */
export interface CallWatch {
  /** A handler has begun to answer the call. Settles when the handler has ended, also where the client no longer waits. */
  began(work: Promise<unknown>): void;
  /** The size of the answer that the handler made, before it is encoded. False: the caller may not have another one that large. */
  mayAnswer(bytes: number): boolean;
  /** Waits for a turn in which an answer of that size is encoded. The turn lasts as long as the current turn of the event loop. */
  encodes(bytes: number): Promise<void>;
}

/** The reason of an abort where the reader of the answer left without withdrawing the call. */
export const READER_LEFT = 'the reader of the answer left';

type Handler = (request: unknown, context: ServerContext) => unknown;

/** SECURITY: makes every handler of the server tell the transport when it begins, when it ends and how much it answers. Limits that end with the connection of a caller do not hold for calls whose caller left. */
export function watchCalls({ server }: McpServer): void {
  const set = server.setRequestHandler.bind(server) as (...given: unknown[]) => void;
  server.setRequestHandler = ((...given: unknown[]) => {
    const handler = given.pop() as Handler;
    set(...given, (request: unknown, context: ServerContext) => watched(handler, request, context));
  }) as typeof server.setRequestHandler;
}

function watched(handler: Handler, request: unknown, context: ServerContext): unknown {
  const call = context.http?.authInfo?.extra?.call as CallWatch | undefined;
  if (call === undefined) return handler(request, context);
  const work = (async () => {
    const result = await handler(request, context);
    const size = sizeOf(result);
    if (!call.mayAnswer(size)) throw tooMuch();
    // SECURITY: a dozen answers of megabytes that are ready at once must not be encoded at once.
    if (size > LARGE_CHARS) await call.encodes(size);
    return result;
  })();
  call.began(work.catch(() => {}));
  return work;
}

/** The characters of all strings in an answer, in its `structuredContent` and embedded resources too, and a few for each member. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let chars = 0;
  for (const [key, member] of Object.entries(value))
    chars += (Array.isArray(value) ? 0 : key.length) + MEMBER_CHARS + sizeOf(member);
  return chars;
}

/** An answer of so many characters is encoded in a millisecond at most. */
const LARGE_CHARS = 65_536;

/** Quotation marks, a colon, a comma, a short number. */
const MEMBER_CHARS = 6;

function tooMuch(): ProtocolError {
  return new ProtocolError(
    ProtocolErrorCode.InternalError,
    'too many of your answers wait to be read: read the answers to your other calls first',
  );
}
