import { Console } from 'node:console';
import fs from 'node:fs';
import process from 'node:process';
import { Writable } from 'node:stream';

const { writeSync } = fs;
const { wait } = Atomics;
const { from } = Buffer;
const { defineProperty, keys } = Object;
const clock = new Int32Array(new SharedArrayBuffer(4));

/**
 * `process.stdout`, `process.stderr` and the console over them: written at once, so that nothing is left when an execution ends, and in one order
 * across the two, as Python's are.
 */
export function installOutput(link) {
  let owner = 0;
  /** Passing the turn on waits until what was written before has left its pipe. */
  const takeTurn = (fd) => {
    if (owner !== 0 && owner !== fd) link.drain();
    owner = fd;
  };
  const streams = { __proto__: null, stdout: makeStream(1, takeTurn), stderr: makeStream(2, takeTurn) };
  const restore = () => {
    for (const name in streams) {
      delete streams[name].write; // a program that listened to its own output, and did not give it back
      defineProperty(process, name, { configurable: true, enumerable: true, get: () => streams[name] });
    }
  };
  restore();
  // The console that Node made tells the inspector of each call too, which keeps a thousand of them with all their arguments.
  const plain = new Console({ ...streams, colorMode: false });
  for (const name of keys(plain)) {
    if (typeof console[name] === 'function') console[name] = plain[name];
  }
  return {
    /** For a new execution, whatever the last one did to them. */
    begin() {
      owner = 0;
      restore();
    },
    drain: () => link.drain(),
  };
}

function makeStream(fd, takeTurn) {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, encoding, done) {
      takeTurn(fd);
      writeAll(fd, typeof chunk === 'string' ? from(chunk, encoding) : chunk);
      done();
    },
  });
  stream.fd = fd;
  stream._type = 'pipe';
  // As Node's own: a program's `end()` must not take the stream from the next.
  stream.destroy = () => stream;
  stream.end = (...values) => {
    if (values.length > 0 && typeof values[0] !== 'function') stream.write(...values);
    return stream;
  };
  return stream;
}

function writeAll(fd, bytes) {
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(fd, bytes, written, bytes.length - written);
    } catch (error) {
      if (error.code !== 'EAGAIN') return; // closed by the program itself
      wait(clock, 0, 0, 1); // a child has made the pipe non-blocking for both
    }
  }
}
