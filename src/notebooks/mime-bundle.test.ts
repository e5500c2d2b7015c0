import { expect, test } from 'vitest';
import { createMimeBundles } from './mime-bundle.ts';

const json = (text: string) => ({ mediaType: 'application/json', data: Buffer.from(text) });
const named = (count: number) => `{${Array.from({ length: count }, (_, at) => `"k${at}":0`).join(',')}}`;
const TEXT = { mediaType: 'text/plain', data: Buffer.from('a plot') };

test('JSON is a value, text is text, and everything else is in base64', () => {
  const picture = { mediaType: 'image/png', data: Buffer.from('png') };
  expect(createMimeBundles()([json('{"a":[1,2]}'), TEXT, picture])).toEqual({
    'application/json': { a: [1, 2] },
    'text/plain': 'a plot',
    'image/png': btoa('png'),
  });
});

test.each([
  ['many names', named(20_001)],
  ['many elements', `[${'0,'.repeat(500_000)}0]`],
  ['deep nesting', `${'['.repeat(201)}${']'.repeat(201)}`],
  ['no JSON', '{'],
])('JSON with %s is left out, and the other representations stay', (_what, text) => {
  expect(createMimeBundles()([json(text), TEXT])).toEqual({ 'text/plain': 'a plot' });
});

test('a large plot stays', () => {
  const plot = `{"x":[${'0.5,'.repeat(250_000)}0],"y":[${'0.5,'.repeat(240_000)}0]}`;
  expect(createMimeBundles()([json(plot)])).toHaveProperty(['application/json', 'x', 'length'], 250_001);
});

test('the displays of a notebook are limited together, and each notebook anew', () => {
  const display = [json(named(19_000))];
  const toBundle = createMimeBundles();
  const kept = Array.from({ length: 100 }, () => Object.keys(toBundle(display)).length);
  expect(kept.filter((count) => count === 1)).toHaveLength(5);
  expect(Object.keys(createMimeBundles()(display))).toHaveLength(1);
});
