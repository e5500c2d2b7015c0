import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, test } from 'vitest';
import { guestBundle } from '../src/drivers/pipe-guest/guest-bundle.ts';
import { parseReadyLine } from '../src/drivers/pipe-guest/ready-line.ts';
import { chooseInterpreter } from '../src/drivers/process/interpreter.ts';
import { guestFiles } from '../src/guest/guest-files.ts';

let python: string;

beforeAll(async () => {
  python = (await chooseInterpreter())!.python;
});

test('the guest says that it is ready, and ends with its channel', () => {
  const { stdout, stderr, status } = start(guestBundle());
  expect(stderr).toBe('');
  expect(parseReadyLine(stdout.split('\n')[0]!)).toMatchObject({ kernel: expect.stringMatching(/\d/) });
  expect(status).toBe(0);
});

test('a bundle that does not arrive whole is no guest', () => {
  const bundle = guestBundle();
  const { stderr, status } = start({ ...bundle, bytes: bundle.bytes.subarray(0, -1) });
  expect(stderr).toContain('the guest did not arrive whole');
  expect(status).toBe(1);
});

test('a module that cannot be imported is told before the guest is ready', () => {
  const files = guestFiles().filter(({ path }) => path !== 'wire/frames.py');
  const { stdout, stderr } = start(guestBundle({ files }));
  expect(stdout).toBe('');
  expect(stderr).toContain("No module named 'hotcell_guest.wire.frames'");
});

function start({ command, bytes }: ReturnType<typeof guestBundle>) {
  const { stdout, stderr, status } = spawnSync(python, command.slice(1), { input: bytes, encoding: 'utf8' });
  return { stdout, stderr, status };
}

describe('byte code in a bundle', () => {
  const broken = guestFiles().map(({ path, content }) =>
    path === 'wire/frames.py'
      ? { path, content: Buffer.from('raise ImportError("from its source")') }
      : { path, content },
  );

  test('is run in place of the sources', () => {
    expect(
      parseReadyLine(start(guestBundle({ files: broken, code: compiled() })).stdout.split('\n')[0]!),
    ).toBeDefined();
  });

  test('of another Python is left aside, and the sources are compiled', () => {
    const code = compiled();
    code.writeUInt16LE(code.readUInt16LE(0) + 1, 0);
    expect(start(guestBundle({ files: broken, code })).stderr).toContain('from its source');
    const { stdout, stderr } = start(guestBundle({ code }));
    expect(stderr).toBe('');
    expect(parseReadyLine(stdout.split('\n')[0]!)).toBeDefined();
  });

  test('is that of every module', () => {
    const files = guestFiles().map(({ path }) => ({
      path,
      content: Buffer.from('raise ImportError("from its source")'),
    }));
    expect(start(guestBundle({ files, code: compiled() })).stderr).toBe('');
  });
});

function compiled(): Buffer {
  return Buffer.from(start(guestBundle({ program: 'compile_guest' })).stdout, 'base64');
}
