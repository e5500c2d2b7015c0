import type { Duplex } from 'node:stream';
import type { Architecture } from '../../sandbox/seccomp.ts';

/** What the guest's bootstrap says before the protocol begins (guest-bundle.ts). */
export interface ReadyLine {
  /** The image's search path. */
  readonly path: string;
  readonly architecture: Architecture | undefined;
  /** The release of the kernel that the inside sees. */
  readonly kernel: string;
}

const LONGEST_LINE_BYTES = 16_384;
const ARCHITECTURES: Readonly<Record<string, Architecture>> = { x86_64: 'x64', aarch64: 'arm64' };

/**
 * Reads the line off the channel and leaves what follows it there. Rejects when something else comes, or the channel ends first: then it is no guest
 * of ours that was started.
 */
export function takeReadyLine(channel: Duplex): Promise<ReadyLine> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const stop = () => {
      channel.off('readable', look);
      channel.off('close', onClose);
    };
    const onClose = () => {
      stop();
      reject(new Error(seen.toString('utf8').slice(0, 500)));
    };
    const look = () => {
      for (let chunk = channel.read() as Buffer | null; chunk !== null; chunk = channel.read() as Buffer | null) {
        seen = Buffer.concat([seen, chunk]);
        const end = seen.indexOf(10);
        if (end < 0 && seen.length < LONGEST_LINE_BYTES) continue;
        stop();
        const ready = end < 0 ? undefined : parseReadyLine(seen.subarray(0, end).toString('utf8'));
        if (ready === undefined) return reject(new Error(seen.toString('utf8').slice(0, 500)));
        if (end + 1 < seen.length) channel.unshift(seen.subarray(end + 1));
        return resolve(ready);
      }
    };
    channel.on('readable', look);
    channel.once('close', onClose);
    if (channel.destroyed) onClose();
  });
}

/** SECURITY: an image may be anybody's; what it says is bounded, and only read as what it must be. */
function parseReadyLine(line: string): ReadyLine | undefined {
  try {
    const { hotcell, path, machine, kernel } = JSON.parse(line) as Record<string, unknown>;
    if (hotcell !== 1 || typeof path !== 'string' || typeof machine !== 'string' || typeof kernel !== 'string') {
      return undefined;
    }
    return { path, architecture: ARCHITECTURES[machine], kernel };
  } catch {
    return undefined;
  }
}
