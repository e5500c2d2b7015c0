import { chmodSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireAllowed, writeChange } from '../../src/cli/install/write-change.ts';
import { toHotcellError } from '../../src/errors/hotcell-error.ts';
import { type ExchangedFolder, exchangeFolder } from '../support/exchanged-folder.ts';

const ROUNDS = 300;
/** On a busy machine the folder is seldom there for long enough to be written to. */
const MOST_ROUNDS = 5_000;

let exchanged: ExchangedFolder;
beforeEach(async () => {
  exchanged = await exchangeFolder();
  // What others may write to is refused; whoever exchanges folders here has the person's own uid, as code in a sandbox with the project mounted has.
  const { root, secret } = exchanged;
  for (const folder of [dirname(root), root, join(root, 'project'), secret]) chmodSync(folder, 0o755);
  chmodSync(exchanged.source, 0o755);
});
afterEach(() => exchanged.stop());

describe.skipIf(process.platform !== 'linux')(
  'a folder of a project that is exchanged for a link while `install` writes',
  () => {
    // A race that is lost once is lost: no second turn.
    it('leads no file out of the project, and is no fault of ours', { timeout: 60_000, retry: 0 }, async () => {
      const where = { newFileMode: 0o644, folder: join(exchanged.root, 'project') };
      const outcomes = new Set<string>();
      for (let round = 0; round < ROUNDS || (outcomes.size < 2 && round < MOST_ROUNDS); round += 1) {
        outcomes.add(await attempt(join(exchanged.source, `${round}.json`)));
      }
      expect(readdirSync(exchanged.secret)).toEqual(['secret']);
      expect([...outcomes].sort()).toEqual(['invalid_argument', 'written']);

      async function attempt(path: string): Promise<string> {
        const change = { path, before: undefined, after: '{}' };
        try {
          requireAllowed(change, where);
          await writeChange(change, where);
          return 'written';
        } catch (error) {
          const { code, message } = toHotcellError(error);
          return code === 'internal' ? message : code;
        }
      }
    });
  },
);
