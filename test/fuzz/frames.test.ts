import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { createFrameDecoder, MAX_FRAME_BYTES, ProtocolViolation } from '../../src/lib/frames.ts';
import { packageRoot } from '../../src/lib/package-root.ts';
import { fuzz } from './fuzz.ts';
import { frameBytes, heads, inPieces, mutatedBytes } from './mutations.ts';

interface Decoded {
  readonly frames: unknown[][];
  /** The field that was wrong. */
  readonly violation: string | null;
  readonly pending: number;
}

const root = packageRoot();
const python = spawn('python3', [join(root, 'test', 'fuzz', 'decode_frames.py'), join(root, 'guest')], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
afterAll(() => python.kill());

const stream = mutatedBytes(
  fc
    .array(frameBytes(fc.oneof(heads('guest'), heads('host'))), { maxLength: 4 })
    .map((frames) => Buffer.concat(frames)),
);

fuzz(
  'frames: host and guest read the same in any bytes, or refuse them for the same reason',
  fc.asyncProperty(stream, fc.array(fc.nat(), { maxLength: 5 }), async (bytes, cuts) => {
    const pieces = inPieces(bytes, cuts);
    const host = decodedByHost(pieces);
    const guest = await decodedByGuest(pieces);
    expect(host.frames).toEqual(guest.frames);
    expect(host.violation).toBe(guest.violation);
    if (host.violation === null) expect(host.pending).toBe(guest.pending);
    expect(host.pending).toBeLessThanOrEqual(MAX_FRAME_BYTES);
  }),
  400,
);

function decodedByHost(pieces: readonly Buffer[]): Decoded {
  const decoder = createFrameDecoder();
  const frames: unknown[][] = [];
  let violation: string | null = null;
  try {
    for (const piece of pieces) {
      for (const { head, body, stream, sequence, ack, sizeBytes } of decoder.feed(piece)) {
        frames.push([head.type, body.toString('hex'), stream, sequence, ack, sizeBytes]);
      }
    }
  } catch (error) {
    if (!(error instanceof ProtocolViolation)) throw error;
    violation = error.message.split(':')[0] ?? '';
  }
  return { frames, violation, pending: decoder.pendingBytes() };
}

async function decodedByGuest(pieces: readonly Buffer[]): Promise<Decoded> {
  python.stdin.write(`${pieces.map((piece) => piece.toString('hex')).join(',')}\n`);
  return JSON.parse((await answers.next()).value) as Decoded;
}
