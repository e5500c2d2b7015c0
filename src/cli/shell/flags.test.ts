import { expect, it } from 'vitest';
import { refuseMixed } from './flags.ts';

it.each([
  [undefined, [], { server: 'http://x' }, '--server needs a session'],
  [undefined, [], { list: true }, '--list needs a session'],
  ['s', [], { minIsolation: 'docker' }, '--min-isolation cannot be used with a session'],
  ['s', [], { json: true }, '--json needs --list'],
  ['s', ['ls'], { attach: 'x' }, 'cannot be combined'],
  ['s', [], { attach: 'x', list: true }, 'exclude each other'],
] as const)('%s %j with %j is refused', (session, words, flags, message) => {
  expect(() => refuseMixed(session, words, flags)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(message) }),
  );
});

it('accepts valid combinations', () => {
  refuseMixed(undefined, [], { isolation: 'docker', cwd: 'x' });
  refuseMixed('s', ['ls'], { server: 'http://x', cwd: 'x', timeout: '2m' });
  refuseMixed('s', [], { list: true, json: true });
});
