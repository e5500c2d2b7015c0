import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from './logger.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-log-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, 'sub', 'hotcell.log');
const lines = () =>
  readFileSync(path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('writes JSON lines to its file, including the first ones, readable only by its owner', async () => {
  const logger = createLogger({ logLevel: 'info', logFile: path() });
  logger.info('listening', { port: 1 });
  logger.warn('slow');
  await logger.close();
  expect(lines()).toMatchObject([
    { level: 'info', msg: 'listening', port: 1, time: expect.stringMatching(/^\d{4}-/) },
    { level: 'warn', msg: 'slow' },
  ]);
  expect(statSync(path()).mode & 0o777).toBe(0o600);
});

test('drops messages below its level', async () => {
  const logger = createLogger({ logLevel: 'warn', logFile: path() });
  logger.info('no');
  logger.debug('no');
  logger.error('yes');
  await logger.close();
  expect(lines().map(({ msg }) => msg)).toEqual(['yes']);
});

test('redacts a token in the fields', async () => {
  const logger = createLogger({ logLevel: 'info', logFile: path() });
  logger.info('request', { token: 'secret-1', headers: { authorization: 'Bearer secret-2' } });
  await logger.close();
  expect(readFileSync(path(), 'utf8')).not.toContain('secret');
});

test('a file that cannot be written does not fail the caller', async () => {
  writeFileSync(join(folder, 'file'), '');
  const logger = createLogger({ logLevel: 'info', logFile: join(folder, 'file', 'hotcell.log') });
  logger.info('one');
  await logger.close();
  logger.info('two');
  await logger.close();
});

test('writes human-readable lines on request', async () => {
  const logger = createLogger({ logLevel: 'info', logFile: path(), logFormat: 'console' });
  logger.warn('slow', { tool: 'x' });
  await logger.close();
  expect(readFileSync(path(), 'utf8')).toMatch(/^\S+Z WARN {2}slow tool=x\n$/);
});

test('appends to an existing file, and to a link of the user', async () => {
  mkdirSync(join(folder, 'sub'));
  symlinkSync('real.log', path());
  for (const message of ['one', 'two']) {
    const logger = createLogger({ logLevel: 'info', logFile: path() });
    logger.info(message);
    await logger.close();
  }
  expect(lines().map(({ msg }) => msg)).toEqual(['one', 'two']);
});

test('writes nothing to a file that other users of the machine can exchange', async () => {
  mkdirSync(join(folder, 'sub'));
  writeFileSync(path(), '');
  chmodSync(join(folder, 'sub'), 0o777);
  const logger = createLogger({ logLevel: 'info', logFile: path() });
  logger.info('one');
  await logger.close();
  expect(readFileSync(path(), 'utf8')).toBe('');
});

test.skipIf(process.getuid?.() !== 0)('does not follow a link of another user', async () => {
  mkdirSync(join(folder, 'sub'));
  chmodSync(join(folder, 'sub'), 0o1777);
  symlinkSync('../profile', path());
  lchownSync(path(), 1_234_567, 1_234_567);
  const logger = createLogger({ logLevel: 'info', logFile: path() });
  logger.info('one');
  await logger.close();
  expect(existsSync(join(folder, 'profile'))).toBe(false);
});

test('creates no folder below one that other users of the machine can exchange', async () => {
  mkdirSync(join(folder, 'open/theirs'), { recursive: true });
  chmodSync(join(folder, 'open'), 0o777);
  for (const name of ['open/sub', 'open/theirs', 'open']) {
    const logger = createLogger({ logLevel: 'info', logFile: join(folder, name, 'hotcell.log') });
    logger.info('one');
    await logger.close();
  }
  expect(readdirSync(folder, { recursive: true }).sort()).toEqual(['open', 'open/theirs']);
});

test('asks before it opens the file, with the first line', async () => {
  let asked = 0;
  const logger = createLogger({ logLevel: 'info', logFile: path() }, () => {
    asked += 1;
    throw new Error('it became a link');
  });
  expect(asked).toBe(0);
  logger.info('one');
  await logger.close();
  expect(asked).toBe(1);
  expect(existsSync(path())).toBe(false);
});
