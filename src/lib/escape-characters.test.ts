import fc from 'fast-check';
import { expect, test } from 'vitest';
import { threadMs } from '../../test/support/thread-time.ts';
import { ownText } from '../cli/terminal-filter.ts';
import { createEscaper } from './escape-characters.ts';
import { inOneLine, quoted, quotedName } from './said-inside.ts';
import { visibleJson } from './visible-json.ts';

const HIDDEN = /[\x7f-\x9f\p{Cf}\u2800]/u;

test('the characters of the class become escapes, and no other character changes', () => {
  const escaped = createEscaper(HIDDEN);
  const slowly = (text: string) =>
    text.replace(new RegExp(HIDDEN, 'gu'), (found) =>
      Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
        '',
      ),
    );
  const characters = fc.constantFrom('a', 'é', '日', '🐍', '\x7f', '\x9b', '\u202e', '\u{e0041}', '\ud800', '\udc00');
  fc.assert(
    fc.property(fc.string({ unit: characters }), (text) => {
      expect(escaped(text)).toBe(slowly(text));
    }),
  );
});

const MEGABYTE = 1_000_000;
/** It takes 20 ms; with a callback for each character it took 700. */
const LIMIT_MS = 250;
const ROUNDS = 8;
test.each([
  ['U+007F', '\x7f'],
  ['U+007F beside letters', '\x7fa'],
  ['characters of two code units', '\u{e0100}'],
])('a megabyte of %s takes no time that others would notice', (_, piece) => {
  const text = piece.repeat(MEGABYTE / piece.length);
  const json = JSON.stringify(text);
  const work = {
    visibleJson: () => visibleJson(json),
    quotedName: () => quotedName(text),
    inOneLine: () => inOneLine(text),
    quoted: () => quoted(text, text.length),
    ownText: () => ownText(text),
  };
  for (const [name, make] of Object.entries(work)) expect(leastMs(make), name).toBeLessThan(LIMIT_MS);
});

/** The shortest time of several rounds; one that is short enough is the last. */
function leastMs(work: () => string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= LIMIT_MS; round += 1) {
    const startedAt = threadMs();
    expect(work().length).toBeGreaterThan(MEGABYTE);
    least = Math.min(least, threadMs() - startedAt);
  }
  return least;
}
