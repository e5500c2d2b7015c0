import { expect, test } from 'vitest';
import { ERROR_CODES, type ErrorCode } from '../../errors/codes.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { ERROR_META, errorResult } from './error-result.ts';

test('an error is a result with its code, message and remedy', () => {
  const { isError, content, structuredContent, _meta } = errorResult(
    new HotcellError('file_exists', 'a.txt: File exists', { remedy: 'Use another name.' }),
  );
  expect(isError).toBe(true);
  expect(content).toEqual([{ type: 'text', text: 'Error file_exists: a.txt: File exists\n→ Use another name.' }]);
  expect(_meta?.[ERROR_META]).toMatchObject({ code: 'file_exists', retry: 'never', remedy: 'Use another name.' });
  expect(structuredContent).toBeUndefined();
});

test('a temporary error says so', () => {
  const [block] = errorResult(new HotcellError('engine_failed', 'no answer')).content;
  expect(block).toMatchObject({ text: expect.stringMatching(/\n→ You can retry the same call later\.$/) });
});

test.each(Object.keys(ERROR_CODES) as ErrorCode[])('%s has a remedy that names no document', (code) => {
  const error = errorResult(new HotcellError(code, 'x'))._meta?.[ERROR_META] as { remedy: string };
  expect(error.remedy.length).toBeGreaterThan(10);
  expect(error.remedy).not.toContain('docs/');
});

test('an internal error is shown without its message, which may name paths of the host', () => {
  const shown = JSON.stringify(errorResult(new TypeError('cannot read /home/me/secret.ts')));
  expect(shown).toContain('internal');
  expect(shown).not.toContain('secret');
});
