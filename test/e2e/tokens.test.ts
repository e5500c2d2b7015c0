import { readFileSync } from 'node:fs';
import { join } from 'node:path';
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

const token = (...args: string[]) => hotcell.run(['dist/cli.js', 'token', ...args]);

describe('hotcell token', () => {
  it('makes a token that a server for others takes, until it is revoked', async () => {
    const made = await token('create', 'laptop', '--max-sessions', '2', '--max-upload', '1m');
    const secret = made.stdout.trim();
    expect(secret).toMatch(/^hotcell_[0-9a-f]{20}_[\w-]{43}$/);
    expect(made.stderr).toContain('not shown again');
    await using server = await startServer(hotcell, ['--host', '0.0.0.0']);
    await expect(server.client('modern')).rejects.toThrow();
    const client = await server.client('modern', secret);
    const result = await client.callTool({ name: 'run_code', arguments: { code: '6 * 7' } });
    expect(result.structuredContent).toMatchObject({ value: '42' });
    const list = await token('list');
    expect(list.stdout).toMatch(
      /^t-[0-9a-f]{20} {2}laptop {2}created \d{4}-\d\d-\d\d {2}last used \S+Z {2}2 sessions {2}uploads to 1 MiB\n$/,
    );
    expect(list.stdout).not.toContain(secret.slice(-43));
    expect((await token('revoke', 'laptop')).stdout).toMatch(/^Revoked laptop \(t-/);
    await expect(client.callTool({ name: 'run_code', arguments: { code: '1' } })).rejects.toThrow();
    await expect.poll(() => audited('session-closed')).toHaveLength(1);
    expect([audited('token-created').length, audited('token-revoked').length]).toEqual([1, 1]);
    expect(readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8')).not.toContain(secret.slice(-43));
  });

  it('refuses what makes no sense, and says why', async () => {
    const lines = [
      ['create', '../x'],
      ['create', 'x', '--max-sessions', '0'],
      ['revoke', 'nobody'],
    ];
    for (const finished of await hotcell.runEach(lines.map((args) => ({ args: ['token', ...args] })))) {
      expect(finished).toMatchObject({ exitCode: 64, stdout: '', stderr: expect.stringMatching(/^error: /) });
    }
  });
});

function audited(event: string): string[] {
  const lines = readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8').split('\n');
  return lines.filter((line) => line.includes(`"event":"${event}"`));
}
