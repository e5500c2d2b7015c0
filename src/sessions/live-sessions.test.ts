import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseOptions } from '../config/parse-options.ts';
import { configSchema } from '../config/schema.ts';
import { deferred } from '../lib/deferred.ts';
import { createLiveSessions } from './live-sessions.ts';
import { createNetworking } from './networking.ts';

const config = parseOptions(configSchema, { maxSessions: 1, poolSize: 0 });
const folder = join(tmpdir(), 'hotcell-never-made');

it('a builder that is being opened takes no place of a caller, and a session of a caller does', async () => {
  // Each opening waits here for a driver that is never found.
  const choice = deferred<never>();
  const networking = createNetworking({
    ...{ config, environment: {}, secrets: {}, methods: [], reach: undefined },
    registryHosts: async () => [],
  });
  const server = { host: { dataDir: folder }, runRoot: folder, logFolder: () => folder } as never;
  const live = createLiveSessions(config, server, () => choice.promise, { declared: {} as never, networking });
  const builder = live.open({}, { isBuilder: true });
  const session = live.open({});
  await expect(live.open({})).rejects.toMatchObject({ code: 'too_many_sessions' });
  await expect(Promise.race([session, Promise.resolve('waits')])).resolves.toBe('waits');
  choice.reject(new Error('there is no driver'));
  await expect(builder).rejects.toThrow('no driver');
  await expect(session).rejects.toThrow('no driver');
  expect(live.count()).toBe(0);
  await live.close();
});
