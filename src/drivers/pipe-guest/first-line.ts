import type { Duplex } from 'node:stream';

const LONGEST_LINE_BYTES = 16_384;
const SHOWN_CHARACTERS = 500;

/**
 * Reads one line from the channel and leaves the following bytes there. Rejects with the received text if `parse`
 * returns undefined, the line is too long, or the channel ends first: then the peer is not one of our programs.
 */
export function takeFirstLine<T>(channel: Duplex, parse: (line: string) => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const stop = () => {
      channel.off('readable', look);
      channel.off('close', refuse);
    };
    const refuse = () => {
      stop();
      reject(new Error(seen.toString('utf8').slice(0, SHOWN_CHARACTERS)));
    };
    const look = () => {
      for (let chunk = channel.read() as Buffer | null; chunk !== null; chunk = channel.read() as Buffer | null) {
        seen = Buffer.concat([seen, chunk]);
        const end = seen.indexOf(10);
        if (end < 0 && seen.length < LONGEST_LINE_BYTES) continue;
        const parsed = end < 0 ? undefined : parse(seen.subarray(0, end).toString('utf8'));
        if (parsed === undefined) return refuse();
        stop();
        if (end + 1 < seen.length) channel.unshift(seen.subarray(end + 1));
        return resolve(parsed);
      }
    };
    channel.on('readable', look);
    channel.once('close', refuse);
    if (channel.destroyed) refuse();
  });
}
