import { expect, test } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { errorResult } from './error-result.ts';

test('an error is a result with its code, what happened and what to do', () => {
  const { isError, content, structuredContent } = errorResult(
    new HotcellError('session_not_found', 'you have no session "x"', { remedy: 'See list_sessions.' }),
  );
  expect(isError).toBe(true);
  expect(content).toEqual([
    {
      type: 'text',
      text: 'Error session_not_found: you have no session "x"\n→ See list_sessions.\n→ This session is gone or unusable: go on in another (open_session).',
    },
  ]);
  expect(structuredContent).toMatchObject({ error: { code: 'session_not_found', retry: 'new-session' } });
});

test('a fault of ours is told without its message, which may name paths of the host', () => {
  const shown = JSON.stringify(errorResult(new TypeError('cannot read /home/me/secret.ts')));
  expect(shown).toContain('internal');
  expect(shown).not.toContain('secret');
});
