import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { strength } from '../support/strength.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { connectHttp, connectStdio, ERAS, leaveToModern, type McpConnection } from './mcp-client.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** Prints, then runs until a file is there. */
const UNTIL_GO =
  'import os, time\nprint("began", flush=True)\nwhile not os.path.exists("go"): time.sleep(0.02)\n"done"';

const IMPATIENT = { env: { HOTCELL_BACKGROUND_AFTER_MS: '4000' } };

describe.each(ERAS)('a run that outlasts what its client waits for (%s era)', (era) => {
  let mcp: McpConnection;
  beforeAll(async () => {
    if (hotcell.unavailable === undefined && strength({ plain: era === 'modern', all: true }))
      mcp = await connectStdio(hotcell, era, IMPATIENT);
  });
  afterAll(async () => {
    await mcp?.[Symbol.asyncDispose]();
  });
  beforeEach((context) => leaveToModern(era, context));
  afterEach(() => mcp?.call('run_command', { command: 'rm -f go' }));

  it('continues in the background by itself, and the reply says how to go on', async () => {
    await mcp.call('list_files'); // the session is open, so that the run begins at once
    const first = await mcp.call('run_code', { code: UNTIL_GO });
    const { execution_id } = first.data;
    expect(first.data).toMatchObject({ state: 'running', stdout: 'began\n' });
    expect(first.text).toBe(
      [
        'Still running after 4 s, so it continues in the background.',
        `Poll: get_execution {"execution_id": "${execution_id}", "wait_ms": 30000}. To stop it: "cancel": true.`,
        'Until it ends, code in the same language waits; run_command does not.',
        'output:\nbegan',
      ].join('\n'),
    );
    const asked = performance.now();
    expect((await mcp.call('get_execution', { execution_id, wait_ms: 60_000 })).data.state).toBe('running');
    expect(performance.now() - asked).toBeLessThan(30_000); // no longer than the client waits either
    await mcp.call('write_file', { path: 'go', content: '' });
    const late = await mcp.call('get_execution', { execution_id, wait_ms: 20_000 });
    expect(late.data).toMatchObject({ state: 'ended', outcome: 'ok', value: "'done'" });
  });

  it('is interrupted by a cancelled call before that', async () => {
    await using patient = await connectStdio(hotcell, era);
    await patient.call('run_code', { code: 'kept = 1' });
    const cancelled = new AbortController();
    const call = patient.call(
      'run_code',
      { code: 'import time\nprint("on", flush=True)\ntime.sleep(60)' },
      { signal: cancelled.signal, onprogress: ({ message }) => message?.includes('on') && cancelled.abort() },
    );
    await expect(call).rejects.toThrow();
    expect((await patient.call('run_code', { code: 'kept' })).data).toMatchObject({ state: 'ended', value: '1' });
  });

  it('is not interrupted by a cancelled call after that', async () => {
    const after = new AbortController();
    const { data } = await mcp.call('run_code', { code: UNTIL_GO }, { signal: after.signal });
    after.abort();
    await mcp.call('write_file', { path: 'go', content: '' });
    const late = await mcp.call('get_execution', { execution_id: data.execution_id, wait_ms: 20_000 });
    expect(late.data).toMatchObject({ outcome: 'ok', value: "'done'" });
  });
});

it('a run of the profile code-sandbox is answered when it has ended, however long that takes', async () => {
  await using mcp = await connectStdio(hotcell, 'modern', { ...IMPATIENT, args: ['--profile', 'code-sandbox'] });
  const { data } = await mcp.call('sandbox_run_python', { code: 'import time\ntime.sleep(6)\nprint("slept")' });
  expect(data).toMatchObject({ exit_code: 0, stdout: 'slept\n' });
});

it('a short default timeout of the server ends a run, and does not send it to the background', async () => {
  await using mcp = await connectStdio(hotcell, 'modern', { env: { HOTCELL_TIMEOUT_MS: '1000' } });
  const { data } = await mcp.call('run_code', { code: 'while True: pass' });
  expect(data).toMatchObject({ state: 'ended', outcome: 'timed-out' });
});

it.for(ERAS)(
  'over HTTP, the answered call of the %s era does not end the run that it left in the background',
  async (era, context) => {
    leaveToModern(era, context);
    const file = join(hotcell.home, 'config.json');
    writeFileSync(file, JSON.stringify({ backgroundAfterMs: 4000 }), { mode: 0o600 });
    try {
      await using mcp = await connectHttp(hotcell, era);
      const { data } = await mcp.call('run_code', { code: UNTIL_GO });
      expect(data).toMatchObject({ state: 'running', stdout: 'began\n' });
      await mcp.call('write_file', { path: 'go', content: '' });
      await expect
        .poll(async () => (await mcp.call('get_execution', { execution_id: data.execution_id, wait_ms: 1000 })).data)
        .toMatchObject({ outcome: 'ok', value: "'done'" });
    } finally {
      rmSync(file);
    }
  },
);
