import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { defineMethod } from '../../src/broker/method.ts';
import { localOwner } from '../../src/directory/owner.ts';
import { type HotcellServer, openServer } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { createTestMethods } from '../support/test-methods.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const { home, remove } = makeHome();
const CLIENT = 'from hotcell_guest.wire.calling import CallError, call\n';

describe.skipIf(skipped !== undefined)('a server with one execution slot', () => {
  let server: HotcellServer;
  const tests = createTestMethods();
  /** As a sub-agent does: the call is answered by another execution of the same server. */
  const nested = defineMethod({
    name: 'nested',
    argument: z.object({ code: z.string() }),
    pausesClock: true,
    audit: ({ code }) => ({ codeChars: code.length }),
    serve: async ({ code }) => {
      const inner = await server.sessions.open(localOwner(server.config), {});
      try {
        return (await inner.run(code).result).stdout;
      } finally {
        await inner.session.close();
      }
    },
  });

  beforeAll(async () => {
    server = await openServer({
      ...TARGETS.shared.options,
      ...{ poolSize: 0, preloads: [], dataDir: home, logLevel: 'silent', maxExecutions: 1, maxPausedMs: 2_000 },
      methods: [...tests.methods, nested],
    });
  });
  afterAll(async () => {
    await server?.close();
    remove();
  });

  test('runs the execution that a call of another waits for', async () => {
    const outer = await server.sessions.open(localOwner(server.config), {});
    const execution = outer.run(`${CLIENT}print(call("nested", {"code": "print(6 * 7)"}))`, { timeoutMs: 30_000 });
    expect(await execution.result).toMatchObject({ outcome: { kind: 'ok' }, stdout: '42\n\n' });
    // The slot is taken again, once: the next execution has it, and there is no second one.
    expect(await outer.run('1').result).toMatchObject({ outcome: { kind: 'ok' } });
    await outer.session.close();
  });

  test('gives the slot of an execution that waits to another, and ends a wait without end', async () => {
    const waiting = await server.sessions.open(localOwner(server.config), {});
    const other = await server.sessions.open(localOwner(server.config), {});
    const parked = waiting.run(`${CLIENT}call("gate", {"name": "parked"})`, { timeoutMs: 1_000 });
    await tests.gate('parked').entered.promise;
    expect(await other.run('1').result).toMatchObject({ outcome: { kind: 'ok' } });
    // The timeout and what pauses may last in total.
    expect((await parked.result).outcome).toEqual({ kind: 'timed-out', limitMs: 3_000 });
    expect(['cancelled', 'execution-ended']).toContain(await tests.gate('parked').ended.promise);
    expect(await other.run('2').result).toMatchObject({ outcome: { kind: 'ok' } });
    await Promise.all([waiting.session.close(), other.session.close()]);
  });

  test('writes its calls to the audit log, many of one kind as one entry', async () => {
    const session = await server.sessions.open(localOwner(server.config), {});
    const execution = session.run(`${CLIENT}for _ in range(50): call("echo", "contents")`);
    await execution.result;
    await session.session.close();
    const lines = async () => {
      const text = await readFile(join(home, 'audit', 'audit.jsonl'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line.includes('"call-ended"') && line.includes(session.uniqueId));
    };
    await expect.poll(async () => (await lines()).length).toBe(1);
    const [line = ''] = await lines();
    expect(JSON.parse(line)).toMatchObject({ method: 'echo', outcome: 'ok', execution: execution.id, owner: 'local' });
    expect(line).not.toContain('contents');
  });
});
