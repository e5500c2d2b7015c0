import { expect, test } from 'vitest';
import { refuseLoopbackRules } from './loopback-rules.ts';

test.each([
  'localhost',
  'localhost:3000',
  'LOCALHOST.',
  'app.localhost:80',
  '*.localhost',
  '127.0.0.1:8080',
  '127.1',
  '2130706433',
  '[::1]:80',
  '::1',
])('the rule %s is refused, with what to do instead', (rule) => {
  const refusal = { code: 'invalid_argument', remedy: expect.stringContaining('forwards') };
  expect(() => refuseLoopbackRules(['api.example.com', rule])).toThrow(expect.objectContaining(refusal));
});

test.each([
  'all',
  'none',
  'registries',
  'localhost.example.com',
  '10.0.0.1:80',
  '!127.0.0.1',
  '!localhost',
  '[::2]',
  'x:99999',
  '*',
])('the rule %s is not about loopback, or denies it', (rule) => {
  expect(() => refuseLoopbackRules([rule])).not.toThrow();
});
