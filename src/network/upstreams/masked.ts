import { Transform } from 'node:stream';

/**
 * Every form in which a server commonly repeats a secret: as it is, in the header's value, as base64, in a URL, in JSON. SECURITY: this is for servers that echo
 * a request by mistake or for debugging. One that helps an attacker can encode the secret in a way that nothing here knows.
 */
export function formsOf(secret: string, user: string): string[] {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const json = JSON.stringify(secret).slice(1, -1);
  const url = encodeURIComponent(secret);
  const forms = [
    ...[secret, base64(`${user}:${secret}`), base64(secret), json],
    ...[url, url.replace(/%../g, (encoded) => encoded.toLowerCase())],
    json.replaceAll('/', '\\/'), // as PHP writes JSON
  ];
  // Without padding, in case the reply was cut off there. The longest first: a shorter one may be its beginning.
  const unpadded = forms.map((form) => form.replace(/={1,2}$/, ''));
  return [...new Set(unpadded)].filter((form) => form.length >= 8).sort((one, other) => other.length - one.length);
}

/** Replaces each form of the secret by as many stars, so that the length of the text stays. */
export function maskedText(text: string, forms: readonly string[]): string {
  return forms.reduce((masked, form) => masked.replaceAll(form, '*'.repeat(form.length)), text);
}

/** Masks bytes that come in pieces. */
export interface Masker {
  /** Takes a piece, and returns the bytes that can be passed on. */
  push(piece: Buffer): Buffer;
  /** The bytes that were held back, at the end. */
  rest(): Buffer;
}

/** Bytes are held back in steps of so many, so that their number does not tell the length of a secret. */
const STEP_BYTES = 64;

/**
 * SECURITY: how many bytes are held back depends on their number alone, never on whether they begin a form. Otherwise the sizes of chunks would tell whether a
 * text that a session has stored on the server is the beginning of the secret, and so its letters one by one.
 */
export function createMasker(forms: readonly string[]): Masker {
  const needles = forms.map((form) => Buffer.from(form, 'latin1'));
  const most = Math.ceil(Math.max(0, ...needles.map(({ length }) => length)) / STEP_BYTES) * STEP_BYTES;
  let held = Buffer.alloc(0);
  return {
    push(piece) {
      const bytes = held.length === 0 ? Buffer.from(piece) : Buffer.concat([held, piece]);
      mask(bytes, needles);
      const keep = Math.min(most, printableEnd(bytes, most));
      held = bytes.subarray(bytes.length - keep);
      return bytes.subarray(0, bytes.length - keep);
    },
    rest: () => held,
  };
}

/** `maskedText` for a stream of bytes, across its chunks. */
export function maskStream(forms: readonly string[]): Transform {
  const masker = createMasker(forms);
  return new Transform({
    transform: (chunk: Buffer, _, done) => done(null, masker.push(chunk)),
    flush: (done) => done(null, masker.rest()),
  });
}

function mask(bytes: Buffer, needles: readonly Buffer[]): void {
  for (const needle of needles) {
    for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) {
      bytes.fill('*', at, at + needle.length);
    }
  }
}

/** The number of bytes behind the last one that no form has, such as a line break: an event of a stream is not held back. Counts no more than `most`. */
function printableEnd(bytes: Buffer, most: number): number {
  let length = 0;
  while (length < Math.min(most, bytes.length) && isPrintable(bytes[bytes.length - 1 - length]!)) length += 1;
  return length;
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte <= 0x7e;
}
