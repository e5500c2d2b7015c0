import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createBroker } from '../../src/broker/broker.ts';
import { createSessionInstalls } from '../../src/broker/installs.ts';
import { createSessionNetworks } from '../../src/broker/networks.ts';
import { methodsFrom, NETWORK_METHODS } from '../../src/broker/registry.ts';
import type { CallFailure } from '../../src/guest/calls.ts';
import type { CallServer } from '../../src/guest/live-sandbox.ts';
import { deferred } from '../../src/lib/deferred.ts';
import type { NetworkEvent, NetworkSetting } from '../../src/network/contract.ts';
import { parsePolicy } from '../../src/network/policy.ts';
import { createSessionNetwork } from '../../src/network/session-network.ts';
import { type Loopback, startLoopback } from '../support/loopback-servers.ts';

/** The methods that a session with a network may call, as the guest calls them, against servers on loopback. */

let loopback: Loopback;
beforeEach(() => {
  loopback = startLoopback();
});
afterEach(() => loopback.close());

describe('network.connect', () => {
  test('answers when the connection is open, and carries bytes both ways until both sides end', async () => {
    const port = await loopback.tcp((socket) => {
      socket.on('data', (chunk) => socket.write(`<${chunk}>`));
      socket.on('end', () => socket.end('bye'));
    });
    const call = sessionWith([`127.0.0.1:${port}`]).connect('127.0.0.1', port);
    expect(await call.opened).toBe('null');
    call.send('one');
    await call.until('<one>');
    call.end('two');
    expect(await call.replied).toBeUndefined();
    expect(call.output()).toBe('<one><two>bye');
    expect(call.isHalfClosed()).toBe(true);
  });

  test('refuses what is not allowed, with the reason, and connects to nothing', async () => {
    let connections = 0;
    const port = await loopback.tcp(() => (connections += 1));
    const session = sessionWith(['a.example']);
    const refused = await session.connect('127.0.0.1', port).replied;
    expect(refused).toMatchObject({ code: 'refused', message: expect.stringContaining('not-allowed') });
    expect(session.events).toMatchObject([{ event: 'refused', refusal: { port, why: 'not-allowed' } }]);
    expect(connections).toBe(0);
  });

  test.each([
    ['that nothing listens on', 'connection-refused', async () => 1],
    ['of a name that does not exist', 'unresolvable', async () => 443],
  ])('fails for a port %s', async (what, code, port) => {
    const host = what.includes('name') ? 'nowhere.invalid' : '127.0.0.1';
    expect(await sessionWith([`${host}:${await port()}`]).connect(host, await port()).replied).toMatchObject({ code });
  });

  test('fails if the server resets the connection, so that what came does not look complete', async () => {
    const port = await loopback.tcp((socket) => {
      socket.write('half of ');
      socket.once('data', () => socket.resetAndDestroy());
    });
    const call = sessionWith([`127.0.0.1:${port}`]).connect('127.0.0.1', port);
    await call.until('half of ');
    call.send('go on');
    expect(await call.replied).toMatchObject({ code: 'broken' });
  });

  test('closes the connection when its caller has gone', async () => {
    const gone = deferred<void>();
    const port = await loopback.tcp((socket) => socket.on('close', () => gone.resolve()));
    const call = sessionWith([`127.0.0.1:${port}`]).connect('127.0.0.1', port);
    await call.opened;
    call.lose();
    await gone.promise;
  });

  test('ends when the policy no longer allows it', async () => {
    const port = await loopback.tcp((socket) => socket.write('hello'));
    const session = sessionWith([`127.0.0.1:${port}`]);
    const call = session.connect('127.0.0.1', port);
    await call.until('hello');
    session.change('none');
    expect(await call.replied).toMatchObject({ code: 'refused', message: expect.stringContaining('policy-changed') });
  });

  test('is not there for a session that may not call it, nor with the network of another', async () => {
    const port = await loopback.tcp((socket) => socket.end('secret'));
    const session = sessionWith([`127.0.0.1:${port}`]);
    expect(await session.other(new Set()).connect('127.0.0.1', port).replied).toMatchObject({ code: 'unknown-method' });
    expect(await session.other().connect('127.0.0.1', port).replied).toMatchObject({ code: 'refused' });
  });
});

describe('network.http', () => {
  test('serves requests of a plain proxy, each checked, on one connection', async () => {
    const seen: string[] = [];
    const port = await loopback.listen(
      createHttpServer((request: IncomingMessage, response) => {
        seen.push(`${request.method} ${request.url} ${request.headers.host}`);
        response.end('hello');
      }),
    );
    const session = sessionWith([`127.0.0.1:${port}`]);
    const call = session.http();
    call.send(`GET http://127.0.0.1:${port}/a HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    await call.until('hello');
    call.send(`GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n`);
    await call.until('403');
    expect(await call.replied).toBeUndefined();
    expect(seen).toEqual([`GET /a 127.0.0.1:${port}`]);
    expect(session.events).toMatchObject([{ event: 'opened' }, { event: 'closed' }, { event: 'refused' }]);
  });

  test('fails if a response is cut off', async () => {
    const port = await loopback.listen(
      createHttpServer((_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('only this', () => response.destroy());
      }),
    );
    const call = sessionWith([`127.0.0.1:${port}`]).http();
    call.send(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    expect(await call.replied).toMatchObject({ code: 'broken' });
  });

  test('answers half a request with nothing, and ends with its caller', async () => {
    const session = sessionWith(['a.example']);
    const call = session.http();
    call.send('GET http://a.exa');
    call.end('');
    await call.until('400 Bad Request');
    await call.replied;
    expect(session.events).toEqual([]);
  });
});

/** A session whose network has this setting, as ceiling and as wish. */
function sessionWith(setting: NetworkSetting) {
  const events: NetworkEvent[] = [];
  const networks = createSessionNetworks({ perOwner: 100 });
  const broker = createBroker(methodsFrom({ networks, installs: createSessionInstalls() }));
  const policy = parsePolicy(setting);
  const onEvent = (event: NetworkEvent) => void events.push(event);
  const network = createSessionNetwork({ rules: { ceiling: policy, wanted: policy }, onEvent });
  networks.add('s-1', { network, onEvent });

  function calls(session: string, methods: ReadonlySet<string>) {
    let serve!: CallServer;
    const serveCalls = (server: CallServer) => {
      serve = server;
    };
    broker.bind({ serveCalls }, { owner: 'anna', session, methods });
    return {
      connect: (host: string, port: number) => beginCall(serve, 'network.connect', { host, port }),
      http: () => beginCall(serve, 'network.http', {}),
    };
  }

  return {
    ...calls('s-1', new Set(NETWORK_METHODS)),
    other: (methods: ReadonlySet<string> = new Set(NETWORK_METHODS)) => calls('s-2', methods),
    change: (wanted: NetworkSetting) => network.change({ ceiling: policy, wanted: parsePolicy(wanted) }),
    events,
  };
}

/** A call as the guest makes it. */
function beginCall(serve: CallServer, method: string, argument: object) {
  const lost = new AbortController();
  const opened = deferred<string>();
  const replied = deferred<CallFailure | undefined>();
  const waiting = new Set<() => void>();
  let output = '';
  let isHalfClosed = false;
  const receive = serve(
    {
      id: 1,
      method,
      execution: null,
      signal: lost.signal,
      send: async ({ type, end }, body) => {
        if (type === 'result') return opened.resolve(body.toString());
        output += body.toString();
        isHalfClosed = end === true;
        for (const look of waiting) look();
      },
      sendNow: (_, body) => {
        output += body.toString();
        for (const look of waiting) look();
        return true;
      },
      untilReady: () => undefined,
      reply: (failure) => {
        replied.resolve(failure);
        for (const look of waiting) look();
      },
    },
    undefined,
  );
  const send = (type: string, text: string, end: boolean) => {
    const body = Buffer.from(text);
    void receive({ head: { type, end }, body, stream: 3, sequence: 1, ack: 0, sizeBytes: body.length });
  };
  send('argument', JSON.stringify(argument), true);
  return {
    opened: opened.promise,
    replied: replied.promise,
    send: (text: string) => send('chunk', text, false),
    end: (text: string) => send('chunk', text, true),
    output: () => output,
    isHalfClosed: () => isHalfClosed,
    lose: () => lost.abort(new Error('gone')),
    until: (text: string) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (output.includes(text)) resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
