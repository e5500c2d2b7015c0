import { createRequire } from 'node:module';
import process from 'node:process';
import { createDecoder, encode } from './frames.js';

const PIECE_BYTES = 65_536;
/** Output that waits for its reader; more is left in the socket. */
const MOST_UNREAD_BYTES = 262_144;

/** The host, or the supervisor on the way to it, refused or ended the call. `code` is one of docs/guest-protocol.md, section 10. */
export class CallError extends Error {
  constructor(code, message) {
    super(message === '' ? code : `${message} (${code})`);
    this.name = 'CallError';
    this.code = code;
  }
}

/**
 * Calls from the program to the host, each on a connection of its own. `call` resolves with the result; `openCall` is for bytes in both directions. `stop` ends
 * all without a word, for an execution that is given up: what waits for them never goes on, as with timers.
 */
export function createCalls() {
  const open = new Set();
  const openCall = (method, argument) => {
    const made = startCall(method, argument, () => open.delete(made));
    open.add(made);
    return made;
  };
  return {
    openCall,
    async call(method, argument) {
      const made = openCall(method, argument);
      made.end().catch(() => {}); // the reply says more
      await made.done;
      return made.result;
    },
    stop() {
      for (const made of open) made.abandon();
    },
  };
}

function startCall(method, argument, forget) {
  const address = process.env.HOTCELL_CALLS ?? '';
  const decode = createDecoder();
  const pieces = [];
  let [unread, result, isOutputOver, reply, isAbandoned] = [0, '', false, undefined, false];
  let wake = () => {};
  const done = promiseOf();
  const early = promiseOf();
  // Loaded by the first call: most programs make none.
  const socket = createRequire('/')('node:net').connect(address.replace(/^@/, '\0') || '/nonexistent');

  function over(error) {
    if (reply !== undefined) return;
    reply = { error };
    forget();
    socket.destroy();
    if (isAbandoned) return;
    wake();
    for (const each of [done, early]) error === undefined ? each.resolve(parsedResult(result)) : each.reject(error);
  }

  function take({ head, body }) {
    if (head.type === 'reply') {
      over(head.ok ? undefined : new CallError(head.error.code, head.error.message));
    } else if (head.type === 'result') {
      result += body.toString('latin1'); // decoded when it is whole: a piece may end within a character
      if (head.end) early.resolve(parsedResult(result));
    } else if (head.type === 'chunk') {
      if (body.length > 0) pieces.push(Buffer.from(body));
      unread += body.length;
      isOutputOver = head.end;
      if (unread > MOST_UNREAD_BYTES) socket.pause();
      wake();
    }
  }

  socket.on('data', (chunk) => {
    for (const frame of decode(chunk)) take(frame);
  });
  socket.on('error', () => {}); // `close` follows
  socket.on('close', () => {
    if (address === '') over(new CallError('not-offered', 'this host serves no calls from the sandbox'));
    else over(new CallError('channel-lost', "the sandbox's supervisor has closed the call"));
  });

  /** Resolves when the bytes are on their way. */
  const send = (type, bytes, end) => {
    if (reply !== undefined) return reply.error === undefined ? Promise.resolve() : Promise.reject(reply.error);
    return new Promise((resolve, reject) => {
      const sent = (error) => (error ? done.promise.then(resolve, reject) : resolve());
      for (let start = 0; start === 0 || start < bytes.length; start += PIECE_BYTES) {
        const isLast = start + PIECE_BYTES >= bytes.length;
        const frame = encode({ type, end: end && isLast }, bytes.subarray(start, start + PIECE_BYTES));
        socket.write(frame, isLast ? sent : () => {});
      }
    });
  };

  async function* output() {
    for (;;) {
      if (pieces.length > 0) {
        const piece = pieces.shift();
        unread -= piece.length;
        if (unread <= MOST_UNREAD_BYTES) socket.resume();
        yield piece;
      } else if (isOutputOver || reply !== undefined) {
        if (reply?.error !== undefined) throw reply.error;
        return;
      } else {
        await new Promise((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  // All of a small call goes out at once: a write that comes after an early refusal would fail, and the refusal be lost.
  socket.cork();
  process.nextTick(() => socket.uncork());
  socket.write(encode({ type: 'call', method: `${method}` }));
  send('argument', argument === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(argument)), true).catch(
    () => {},
  );
  return {
    /** Resolves with the result, perhaps before the call is over. */
    result: early.promise,
    /** Resolves with the result when the call is over. */
    done: done.promise,
    write: (bytes) => send('chunk', Buffer.from(bytes), false),
    end: () => send('chunk', Buffer.alloc(0), true),
    [Symbol.asyncIterator]: output,
    /** Cancels the call, unless it is over. */
    close: () => over(new CallError('cancelled', 'the call was closed')),
    abandon: () => {
      isAbandoned = true;
      over(new CallError('cancelled', ''));
    },
  };
}

function parsedResult(latin1) {
  return latin1 === '' ? undefined : JSON.parse(Buffer.from(latin1, 'latin1').toString('utf8'));
}

/** A promise whose rejection need not be handled: a program may wait for the other one. */
function promiseOf() {
  const made = {};
  made.promise = new Promise((resolve, reject) => {
    made.resolve = resolve;
    made.reject = reject;
  });
  made.promise.catch(() => {});
  return made;
}
