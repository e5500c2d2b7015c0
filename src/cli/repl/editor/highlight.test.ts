import { describe, expect, it } from 'vitest';
import { threadMs } from '../../../../test/support/thread-time.ts';
import type { Paint } from '../../print.ts';
import { highlighted } from './highlight.ts';

const paint: Paint = (colour, text) => `<${colour[0]}:${text}>`;

describe('colours of what is typed', () => {
  it.each([
    ['python', 'for x in range(10): # all', '<m:for> x <m:in> range(<c:10>): <d:# all>'],
    ['python', "s = f\"a#{1}\" + '''b\nc", "s = <y:f\"a#{1}\"> + <y:'''b>\n<y:c>"],
    ['python', 'form, x2, "open', 'form, x2, <y:"open>'],
    ['javascript', 'const a = `x\n1` // y', '<m:const> a = <y:`x>\n<y:1`> <d:// y>'],
    ['bash', 'for f in *; do echo "$f#"; done # all', '<m:for> f <m:in> *; <m:do> echo <y:"$f#">; <m:done> <d:# all>'],
    ['bash', 'echo $# a#b', 'echo $# a#b'],
    ['go', 'func main() {}', 'func main() {}'],
  ])('%s: %s', (language, text, expected) => {
    expect(highlighted(text, language, paint).join('\n')).toBe(expected);
  });

  it('changes no character, and is linear in the text', () => {
    const plain: Paint = (_, text) => text;
    for (const piece of ['"', "'''", '`', '/*', '#', 'f"\\', 'aaaa', '1.', '/', '"""\n', 'ü😀']) {
      const text = piece.repeat(Math.floor(50_000 / piece.length));
      const begin = threadMs();
      for (const language of ['python', 'javascript', 'bash']) {
        expect(highlighted(text, language, plain).join('\n')).toBe(text);
      }
      expect(threadMs() - begin).toBeLessThan(1_000);
    }
  });
});
