import { expect, test } from 'vitest';
import type { SessionDirectory } from './directory.ts';
import { createLazyDirectory } from './lazy-directory.ts';

const lazily = (open: () => Promise<SessionDirectory>, mayRecall = false) =>
  createLazyDirectory(open, async () => mayRecall);
const owner = { id: 'local', quotas: { sessions: 1, memoryBytes: 1e9, executions: 1, uploadBytes: 1 } };

function fake() {
  const calls: string[] = [];
  const directory = new Proxy({} as SessionDirectory, {
    get: (_, name) => (name === 'then' ? undefined : () => calls.push(String(name))),
  });
  return { calls, directory };
}

test('a client that only looks creates no directory', async () => {
  const lazy = lazily(() => expect.unreachable());
  await lazy.recall(owner);
  expect([lazy.list(owner), lazy.census(), lazy.find('s-1')]).toEqual([[], [], undefined]);
  await lazy.shutdown();
});

test('a client that only looks gets a directory if a session survived another server', async () => {
  const { calls, directory } = fake();
  const lazy = lazily(async () => directory, true);
  await lazy.recall(owner);
  expect(calls).toEqual(['recall']);
});

test('concurrent calls create one directory', async () => {
  const { calls, directory } = fake();
  let made = 0;
  const lazy = lazily(async () => {
    made += 1;
    return directory;
  });
  await Promise.all([lazy.use(owner, undefined), lazy.use(owner, undefined)]);
  lazy.list(owner);
  await lazy.shutdown();
  expect({ made, calls }).toEqual({ made: 1, calls: ['use', 'use', 'list', 'shutdown'] });
});

test('the next call retries after a failure', async () => {
  const { directory } = fake();
  let turn = 0;
  const lazy = lazily(async () => {
    turn += 1;
    if (turn === 1) throw new Error('no lock');
    return directory;
  });
  await expect(lazy.use(owner, undefined)).rejects.toThrow('no lock');
  await lazy.use(owner, undefined);
  expect(turn).toBe(2);
});

test('no directory is created after shutdown', async () => {
  const lazy = lazily(() => expect.unreachable());
  await lazy.shutdown();
  for (const call of [lazy.use(owner, undefined), lazy.open(owner, {}), lazy.close(owner, 'a')]) {
    await expect(call).rejects.toMatchObject({ code: 'shutting_down', remedy: 'Retry when it is running again.' });
  }
});

test('once created, the directory answers every call with all its arguments, during shutdown too', async () => {
  const asked: unknown[][] = [];
  const answer =
    (name: string) =>
    async (...args: unknown[]) => {
      asked.push([name, ...args]);
    };
  const directory = { use: answer('use'), open: answer('open'), close: answer('close'), shutdown: answer('shutdown') };
  const lazy = lazily(async () => directory as unknown as SessionDirectory);
  await lazy.use(owner, undefined);
  await lazy.shutdown();
  await lazy.use(owner, 'a', { via: 'run_code' });
  await lazy.open(owner, { name: 'b' }, { via: 'open_session' });
  await lazy.close(owner, 'a', { via: 'close_session' });
  expect(asked.slice(2)).toEqual([
    ['use', owner, 'a', { via: 'run_code' }],
    ['open', owner, { name: 'b' }, { via: 'open_session' }],
    ['close', owner, 'a', { via: 'close_session' }],
  ]);
});
