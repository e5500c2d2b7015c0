import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toHotcellError } from '../../errors/hotcell-error.ts';
import { createOutput } from '../output.ts';
import { type InstallFlags, install } from './index.ts';

const STRANGER = 1_234_567;
const asRoot = process.getuid?.() === 0;

let home: string;
let project: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hc-install-'));
  project = join(home, 'project');
  mkdirSync(project);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function refusal(flags: InstallFlags = {}): Promise<{ code: string; message: string; remedy?: string }> {
  const machine = {
    platform: 'linux',
    home,
    folder: project,
    variables: { HOTCELL_HOME: join(home, 'data') },
  } as const;
  const output = createOutput({ write: () => true, once: () => {}, off: () => {} });
  const failed = await install('cursor', { scope: 'project', ...flags }, machine, {
    stdout: output,
    stderr: output,
  }).then(() => undefined, toHotcellError);
  return { code: failed?.code ?? 'none', message: failed?.message ?? '', remedy: failed?.remedy ?? '' };
}

const config = () => join(project, '.cursor/mcp.json');

describe('a project in which another user could exchange the written files', () => {
  it('is refused if others can write to it, with a remedy', async () => {
    chmodSync(project, 0o777);
    expect(await refusal()).toEqual({
      code: 'invalid_argument',
      message: expect.stringMatching(/was not changed: .*project can be written to by other users$/),
      remedy: expect.stringContaining(`Run: chmod go-w ${project}. Or run the same command with --print`),
    });
    expect(readdirSync(project)).toEqual([]);
  });

  it('is refused in a shared folder such as /tmp, without the advice to close it', async () => {
    chmodSync(project, 0o1777);
    expect((await refusal()).remedy).toMatch(/^Move the project to a folder of your own\./);
  });

  it.skipIf(!asRoot).each(['project', 'project/.cursor'])("is refused where %s is another user's", async (name) => {
    mkdirSync(join(project, '.cursor'));
    chownSync(join(home, name), STRANGER, STRANGER);
    expect(await refusal()).toMatchObject({
      message: expect.stringMatching(/belongs to another user \(uid 1234567\)/),
      remedy: expect.stringMatching(/^Run it as the owner of the folder\./),
    });
    expect(readdirSync(join(project, '.cursor'))).toEqual([]);
  });

  it.skipIf(!asRoot)("gives and takes nothing of a file that is another user's, also not to undo", async () => {
    mkdirSync(join(project, '.cursor'));
    expect(await refusal({ rules: false })).toMatchObject({ code: 'none' });
    const text = readFileSync(config(), 'utf8');
    chownSync(config(), STRANGER, STRANGER);
    chmodSync(config(), 0o666);
    writeFileSync(config(), text.replace('hotcell', 'other'));
    expect(await refusal()).toMatchObject({ code: 'invalid_argument' });
    writeFileSync(config(), text);
    expect(await refusal({ undo: true })).toMatchObject({ code: 'invalid_argument' });
    expect(statSync(config()).uid).toBe(STRANGER);
    expect(readdirSync(join(project, '.cursor'))).toEqual(['mcp.json']);
  });

  it.skipIf(!asRoot)("is none where the configuration is the person's own, whose group keeps it", async () => {
    mkdirSync(join(project, '.cursor'));
    writeFileSync(config(), '{}', { mode: 0o640 });
    chownSync(config(), 0, STRANGER);
    expect(await refusal()).toMatchObject({ code: 'none' });
    for (const path of [config(), `${config()}.hotcell-backup`]) {
      expect(statSync(path)).toMatchObject({ uid: 0, gid: STRANGER });
      expect(statSync(path).mode & 0o777).toBe(0o640);
    }
    expect(existsSync(`${config()}.hotcell-backup`)).toBe(true);
  });
});
