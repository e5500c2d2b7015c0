import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('five hundred small calls at once', () => {
  it('do not keep another tenant waiting until they are all answered', async () => {
    await using tenants = await serveTwoTenants();
    const { hotcell, tokens } = tenants;
    const { headers = {} } = toolCall('');
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    // Kept alive: the system hands out new connections one after the other, whosever they are.
    const socket = connect(hotcell.port, '127.0.0.1');
    const lines = Object.entries({ host: '127.0.0.1', authorization: `Bearer ${tokens.ada}`, ...headers });
    const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const head = ['POST /mcp HTTP/1.1', ...lines.map(([name, value]) => `${name}: ${value}`)];
    const request = `${[...head, `content-length: ${ping.length}`].join('\r\n')}\r\n\r\n${ping}`;
    async function timed(): Promise<number> {
      const begin = performance.now();
      socket.write(request);
      let answer = '';
      while (!answer.endsWith('0\r\n\r\n')) answer += (await once(socket, 'data'))[0];
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      return performance.now() - begin;
    }
    await timed();

    const begin = performance.now();
    const crowd = Array.from({ length: 500 }, () =>
      hotcell.send('POST', '/mcp', { headers, body, token: tokens.mallory }),
    );
    let isOver = false;
    const all = Promise.all(crowd).finally(() => {
      isOver = true;
    });
    await Promise.race(crowd);
    const times: number[] = [];
    while (!isOver) times.push(await timed());
    expect((await all).every(({ status }) => status === 200)).toBe(true);
    // On a busy machine all of it takes longer.
    expect(Math.max(...times)).toBeLessThan(Math.max(1_000, (performance.now() - begin) / 3));
    expect(times.length).toBeGreaterThan(3);
    socket.destroy();
  });
});
