import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type CommandContext, commandIn } from './commands.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-commands-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function loaded(content: string): Promise<string> {
  writeFileSync(join(folder, 'report.py'), content);
  let draft = '';
  const context = { writable: [folder], edit: (text: string) => (draft = text) } as unknown as CommandContext;
  await commandIn(`%load ${join(folder, 'report.py')}`)!.run(context);
  return draft;
}

it('puts code of a file at the prompt', async () => {
  expect(await loaded('%timeit 1\nprint(2)\n')).toBe('%timeit 1\nprint(2)');
});

it.each(['%run /home/ada/.ssh/id_rsa\n', '\n\n %load key', 'secret?', 'exit()'])(
  'does not put a command there that a sandbox wrote: %j',
  async (content) => {
    await expect(loaded(content)).rejects.toThrow(/a command of this prompt/);
  },
);
