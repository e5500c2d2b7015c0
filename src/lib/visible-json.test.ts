import { expect, it } from 'vitest';
import { visibleJson } from './visible-json.ts';

it('escapes invisible characters without changing the value', () => {
  const value = {
    text: 'a\x1b]0;t\x07 \x9b31m \x9d \u202eb\u2066 \u200b\u200d\ufeff \u2028\u2029 \u{e0041} \u3164\uffa0\u115f\u034f\u{e0100}\ufe0f\u2800 é 日本 🐍 \x7f',
  };
  const json = visibleJson(JSON.stringify(value));
  expect(JSON.parse(json)).toEqual(value);
  expect(json).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u);
  expect(json).toContain('\\u009b31m');
  expect(json).toContain('é 日本 🐍');
});
