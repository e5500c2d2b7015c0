import { expect, test } from 'vitest';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import { ERROR_META } from '../../present/error-result.ts';
import { failureResult } from './failures.ts';

const LIBRARY = 'Name it by its path in the workspace, such as data/sales.csv.';

test.each<[string, HotcellError, Record<string, string>, string]>([
  [
    'a file that is there',
    new HotcellError('file_exists', 'a.csv: File exists', { remedy: 'Remove that one first.' }),
    { filename: 'a.csv', content_base64: '' },
    '/mnt/data/a.csv: File exists. Pass overwrite: true to replace it, or choose another filename.',
  ],
  [
    'a folder',
    new HotcellError('bad_path', 'out: folder, not a regular file', { remedy: LIBRARY }),
    { path: '/mnt/data/out' },
    '/mnt/data/out: folder, not a regular file. path must name a regular file in /mnt/data, such as /mnt/data/chart.png.',
  ],
  [
    'a file that is not there',
    new HotcellError('file_not_found', 'out/x.png: No such file or directory', { remedy: LIBRARY }),
    { path: 'out/x.png' },
    '/mnt/data/out/x.png: No such file or directory. Call sandbox_list_artifacts for the files of the session.',
  ],
  [
    'a session that is busy, by the name that only the server knows it by',
    new HotcellError('session_busy', 'the session s-0123 is already running an execution', { remedy: 'Wait for it.' }),
    { code: '1', session_id: 'mine' },
    'a run is in progress in this session. Wait until the run has ended.',
  ],
  [
    'what nobody knows a remedy for',
    new HotcellError('guest_misbehaved', 'the guest broke the protocol'),
    { code: '1' },
    'the guest broke the protocol',
  ],
])('%s has the message that its callers know', (_what, error, args, message) => {
  const { _meta, content, structuredContent } = failureResult(error, args);
  expect(_meta?.[ERROR_META]).toMatchObject({ message });
  expect(content).toEqual([{ type: 'text', text: JSON.stringify(_meta?.[ERROR_META]) }]);
  expect(structuredContent).toBeUndefined();
});
