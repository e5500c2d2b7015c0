import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { startServer } from './http-server.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});
const command = (...args: string[]) => hotcell.run(['dist/cli.js', ...args]);

describe('hotcell status', () => {
  it('names a server with its address and sessions, and no server once it has ended', async () => {
    const server = await startServer(hotcell);
    const client = await server.client('modern');
    await client.callTool({ name: 'open_session', arguments: {} });
    const { servers, dataFolder } = JSON.parse((await command('status', '--json')).stdout);
    expect(servers).toEqual([
      expect.objectContaining({ command: 'serve', url: server.url, pid: server.child.pid, sessions: 1 }),
    ]);
    expect(dataFolder).toMatchObject({ path: hotcell.home, sizeBytes: expect.any(Number) });
    const { stdout } = await command('status');
    expect(stdout).toContain(`hotcell serve  ${server.url}  process  1 session  pid ${server.child.pid}`);
    await client.close();
    await server.stop();
    expect((await command('status')).stdout).toContain('Servers\n  none (hotcell serve starts one)');
  });
});

it('a second server on the same port learns of the first, and how to have another port', async () => {
  await using server = await startServer(hotcell);
  const { port } = new URL(server.url);
  const second = hotcell.start(['dist/cli.js', 'serve', '--port', port]);
  let stderr = '';
  second.stderr!.on('data', (piece) => (stderr += piece));
  const [exitCode] = await once(second, 'close');
  expect(exitCode).toBe(64);
  expect(stderr).toContain(`another Hotcell is serving on ${server.url} already (pid ${server.child.pid})`);
  expect(stderr).toMatch(/→ Use that one, stop it \(kill \d+\), or choose another port: .* --port \d+/);
});

it('hotcell version prints the version', async () => {
  const { stdout } = await command('--version');
  expect(await command('version')).toEqual({ exitCode: 0, stdout, stderr: '' });
});
