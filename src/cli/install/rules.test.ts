import { describe, expect, it } from 'vitest';
import { rulesFor, withRules as withGiven, withoutRules } from './rules.ts';

const withRules = (text: string) => withGiven(text, rulesFor(['hotcell']));

describe('the rules in CLAUDE.md', () => {
  it.each(['', '# Mine\n', '# Mine', '# Mine\r\n\r\nlast\r\n', '# Mine\n\n\n'])(
    'can be added and removed without a trace in %j',
    (text) => {
      const after = withRules(text);
      expect(after.startsWith(text)).toBe(true);
      expect(withRules(after)).toBe(after);
      expect(withoutRules(after)).toBe(text === '' || text.endsWith('\n') ? text : `${text}\n`);
    },
  );

  it('are replaced in place', () => {
    const text = `above\n\n${withRules('').replace('Where to run code', 'Older rules')}\nbelow\n`;
    expect(withRules(text)).toBe(`above\n\n${withRules('')}\nbelow\n`);
    expect(withoutRules(text)).toBe('above\n\nbelow\n');
  });

  it('are not cut if their end is missing', () => {
    const text = withRules('').replace('<!-- hotcell: end -->', '');
    expect(withoutRules(`${text}\nmine\n`)).toBe(`${text}\nmine\n`);
  });

  it('are short enough to be read every time', () => {
    expect(withRules('').length).toBeLessThan(1500);
    expect(withGiven('', rulesFor(['code-sandbox'])).length).toBeLessThan(1500);
  });
});
