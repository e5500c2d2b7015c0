import { connect, type Socket } from 'node:net';
import type { ManagedSession } from '../../src/directory/directory.ts';
import { type Answer, type ServedHotcell, serveForTest, type TestOptions, toolCall } from './served-hotcell.ts';

/** A server with two tokens: `mallory` misbehaves, and what `ada` does is measured. */
export interface TwoTenants extends AsyncDisposable {
  readonly hotcell: ServedHotcell;
  readonly tokens: Readonly<Record<Tenant, string>>;
  sessionsOf(who: Tenant): readonly ManagedSession[];
  call(who: Tenant, tool: string, args?: object): Promise<Answer>;
  /** How long a call of ada's takes. Throws where it fails. */
  timed(tool: string, args?: object): Promise<number>;
  /** A request of mallory's that is given byte by byte; what comes back is thrown away. */
  socket(): Socket;
}

export type Tenant = 'mallory' | 'ada';

export async function serveTwoTenants(options: TestOptions = {}): Promise<TwoTenants> {
  const tokens = { mallory: '', ada: '' };
  const ids = { mallory: '', ada: '' };
  const hotcell = await serveForTest({ tokens: 'always', ...options }, async (store) => {
    for (const who of ['mallory', 'ada'] as const) {
      const { id, text } = await store.create(who, { mayInstall: true });
      tokens[who] = text;
      ids[who] = id;
    }
  });
  const call = (who: Tenant, tool: string, args: object = {}) =>
    hotcell.send('POST', '/mcp', { ...toolCall(tool, args), token: tokens[who] });
  return {
    hotcell,
    tokens,
    sessionsOf: (who) => hotcell.server.sessions.list(hotcell.ownerOf(ids[who])),
    call,
    timed: async (tool, args) => {
      const begin = performance.now();
      const { status, body } = await call('ada', tool, args);
      if (status !== 200 || body.includes('"isError":true')) throw new Error(body.toString());
      return performance.now() - begin;
    },
    socket: () =>
      connect(hotcell.port, '127.0.0.1')
        .on('error', () => {})
        .resume(),
    [Symbol.asyncDispose]: () => hotcell[Symbol.asyncDispose](),
  };
}
