import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { protocolExamples } from '../../test/support/protocol-examples.ts';
import {
  createFrameDecoder,
  encodeFrame,
  type Frame,
  type Head,
  MAX_BODY_BYTES,
  MAX_FRAME_BYTES,
  MAX_HEAD_BYTES,
  MAX_HEAD_DEPTH,
  ProtocolViolation,
} from './frames.ts';

const examples = protocolExamples();

describe('the examples of the protocol', () => {
  test.each(examples.frames)('$name: is decoded as documented', (example) => {
    const bytes = Buffer.from(example.bytes, 'hex');
    const [frame, ...more] = decode([bytes]);
    expect(more).toEqual([]);
    expect({ ...frame, body: frame?.body.toString('base64') }).toEqual({
      head: example.head,
      body: example.body,
      stream: example.stream,
      sequence: example.sequence,
      ack: example.ack,
      sizeBytes: bytes.length,
    });
  });

  test.each(examples.frames)(
    '$name: is written with the same bytes',
    ({ head, body, stream, sequence, ack, bytes }) => {
      const encoded = encodeFrame({ head, body: Buffer.from(body, 'base64'), stream, sequence, ack });
      expect(encoded.toString('hex')).toBe(bytes);
    },
  );

  test.each(examples.malformedFrames)('$name: is refused, naming $complaint', ({ bytes, complaint }) => {
    expect(() => decode([Buffer.from(bytes, 'hex')])).toThrow(complaintAbout(complaint));
  });

  test.each(examples.malformedFrames)('$name: is refused byte by byte too', ({ bytes, complaint }) => {
    const pieces = [...Buffer.from(bytes, 'hex')].map((byte) => Buffer.from([byte]));
    expect(() => decode(pieces)).toThrow(complaintAbout(complaint));
  });
});

describe('the depth of a head', () => {
  const nested = (depth: number): Head => {
    let inner: unknown = [];
    for (let level = 2; level < depth; level += 1) inner = [inner];
    return { type: 'x', inner };
  };

  test('has the same limit as in the guest', () => {
    expect(decode([encodeFrame({ head: nested(MAX_HEAD_DEPTH) })])).toHaveLength(1);
    expect(() => decode([encodeFrame({ head: nested(MAX_HEAD_DEPTH + 1) })])).toThrow(/head: nested deeper than 64/);
  });

  test('does not count brackets inside strings', () => {
    const head = { type: 'x', text: `"\\${'[{'.repeat(100)}\\"`, many: Array(100).fill([]) };
    expect(decode([encodeFrame({ head })])[0]?.head).toEqual(head);
  });
});

describe('the decoder', () => {
  const head = fc
    .record({ type: fc.string({ maxLength: 20 }) })
    .chain(({ type }) => fc.dictionary(fc.string(), fc.jsonValue()).map((rest): Head => ({ ...rest, type })));
  const word = fc.integer({ min: 0, max: 0xffff_ffff });
  const frame = fc.record({
    head: head.map((made) => JSON.parse(JSON.stringify(made)) as Head),
    body: fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
    stream: word,
    sequence: word,
    ack: word,
  });

  test('returns every frame, however the bytes are split', () => {
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), fc.array(fc.nat()), (frames, cuts) => {
        const pieces = split(Buffer.concat(frames.map((frame) => encodeFrame(frame))), cuts);
        const read = decode(pieces).map(({ sizeBytes: _, ...rest }) => rest);
        expect(read).toEqual(frames);
      }),
    );
  });

  test('never holds more than the frame that is arriving', () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 4 }), fc.array(fc.nat()), (frames, cuts) => {
        const decoder = createFrameDecoder();
        const largest = Math.max(...frames.map((one) => encodeFrame(one).length));
        for (const piece of split(Buffer.concat(frames.map((frame) => encodeFrame(frame))), cuts)) {
          for (const _ of decoder.feed(piece)) expect(decoder.pendingBytes()).toBe(0);
          expect(decoder.pendingBytes()).toBeLessThan(largest);
        }
        expect(decoder.pendingBytes()).toBe(0);
      }),
    );
  });

  test('waits for the rest of an incomplete frame', () => {
    fc.assert(
      fc.property(frame, fc.nat(), (one, cut) => {
        const bytes = encodeFrame(one);
        expect(decode([bytes.subarray(0, cut % bytes.length)])).toEqual([]);
      }),
    );
  });

  test('rejects garbage with the reason, or waits; it never returns a frame that was not sent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (garbage) => {
        const bytes = Buffer.from(garbage);
        if (bytes[0] === 0x48 && (bytes.length === 1 || bytes[1] === 0x43)) return;
        expect(() => decode([bytes])).toThrow(complaintAbout('magic'));
      }),
    );
  });

  test('checks a header before the announced bytes have arrived', () => {
    const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(byte, byte, u32, u32, (version, flags, headBytes, bodyBytes) => {
        const header = Buffer.alloc(24);
        header.write('HC', 0, 'latin1');
        header[2] = version;
        header[3] = flags;
        header.writeUInt32BE(headBytes, 4);
        header.writeUInt32BE(bodyBytes, 8);
        const field = firstWrongField(version, flags, headBytes, bodyBytes);
        if (field === undefined) expect(decode([header])).toEqual([]);
        else expect(() => decode([header])).toThrow(complaintAbout(field));
      }),
    );
  });

  test('keeps rejecting after the first violation', () => {
    const decoder = createFrameDecoder();
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(() => [...decoder.feed(Buffer.from('not a frame, and long enough to be one'))]).toThrow(ProtocolViolation);
    }
  });

  test('decodes the largest frame byte by byte in linear time', () => {
    const filler = MAX_HEAD_BYTES - JSON.stringify({ type: 'x', filler: '' }).length;
    const bytes = encodeFrame({
      head: { type: 'x', filler: 'f'.repeat(filler) },
      body: Buffer.alloc(MAX_BODY_BYTES, 7),
    });
    expect(bytes.length).toBe(MAX_FRAME_BYTES);
    const decoder = createFrameDecoder();
    const frames: Frame[] = [];
    for (let at = 0; at < bytes.length; at++) frames.push(...decoder.feed(bytes.subarray(at, at + 1)));
    expect(frames).toHaveLength(1);
    expect(frames[0]?.body.length).toBe(MAX_BODY_BYTES);
  });
});

describe('the encoder', () => {
  test('rejects frames that no decoder accepts, and names the field', () => {
    expect(() => encodeFrame({ head: { type: 'x', text: 'x'.repeat(MAX_HEAD_BYTES) } })).toThrow(/^head length: /);
    expect(() => encodeFrame({ head: { type: 'x' }, body: Buffer.alloc(MAX_BODY_BYTES + 1) })).toThrow(
      /^body length: /,
    );
  });
});

function decode(pieces: Buffer[]): Frame[] {
  const decoder = createFrameDecoder();
  return pieces.flatMap((piece) => [...decoder.feed(piece)]);
}

function split(bytes: Buffer, cuts: number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
}

function complaintAbout(field: string): RegExp {
  return new RegExp(`^${field}: `);
}

function firstWrongField(version: number, flags: number, headBytes: number, bodyBytes: number): string | undefined {
  if (version !== 1) return 'version';
  if (flags !== 0) return 'flags';
  if (headBytes < 2 || headBytes > MAX_HEAD_BYTES) return 'head length';
  return bodyBytes > MAX_BODY_BYTES ? 'body length' : undefined;
}
