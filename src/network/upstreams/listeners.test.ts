import { expect, test } from 'vitest';
import { forwardOf, upstreamListeners } from './listeners.ts';
import { credentialsSchema, NO_UPSTREAMS } from './upstream.ts';

test('a session without services listens to nothing', () => {
  expect(upstreamListeners(NO_UPSTREAMS)).toEqual({ listen: [], variables: {} });
});

test('each forward has a listener of its own, all credentials share one, and variables name them', () => {
  const api = { url: 'https://api.test', secret: { env: 'X' } };
  const { listen, variables } = upstreamListeners({
    forwards: { 'main-db': 'db.internal:5432' },
    credentials: credentialsSchema.parse({ api, git: api }),
  });
  expect(listen).toEqual([
    { name: 'forward_main-db', kind: 'forward' },
    { name: 'credentials_http', kind: 'credentials' },
  ]);
  expect(variables).toEqual({
    HOTCELL_SERVICE_MAIN_DB: '127.0.0.1:{forward_main-db}',
    HOTCELL_SERVICE_API: 'http://127.0.0.1:{credentials_http}/api',
    HOTCELL_SERVICE_GIT: 'http://127.0.0.1:{credentials_http}/git',
  });
  expect(listen.map(({ name }) => forwardOf(name))).toEqual(['main-db', '']);
});
