import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureClients } from '../../scripts/clients.mjs';
import { type BuiltHotcell, buildHotcell } from '../e2e/built-hotcell.ts';
import { COMMAND_LINE_CLIENTS, type CommandLineClient, startClient } from './command-line-clients.ts';
import { expectJourney, JOURNEY, LONG_RUN, type Step } from './journey.ts';
import type { ToolResult } from './model/dialect.ts';
import { type Script, startModel } from './model/server.ts';
import { removeWhenEnded, serverCommand } from './server-command.ts';

let bin: string;
let hotcell: BuiltHotcell;
beforeAll(async () => {
  ({ bin } = await ensureClients());
  hotcell = await buildHotcell();
});
afterAll(() => hotcell && removeWhenEnded(hotcell));

describe.concurrent.each(COMMAND_LINE_CLIENTS)('$program', (client) => {
  it('hands its model pictures, text and errors as Hotcell wrote them', async () => {
    expectJourney(JOURNEY, await drive(client, JOURNEY));
  });

  it('takes a run of 75 seconds', async () => {
    expectJourney(LONG_RUN, await drive(client, LONG_RUN));
  });

  it('leaves nothing that runs when it is interrupted', async () => {
    const seconds = `4${Math.floor(Math.random() * 1e6)}.5`;
    const call = { tool: 'run_command', arguments: { command: `sleep ${seconds}` } };
    const model = await startModel(client.dialect, () => call);
    const running = startClient(client, bin, model.port, serverCommand(hotcell));
    try {
      await vi.waitUntil(() => isRunning(seconds), { timeout: 90_000, interval: 100 });
      running.interrupt();
      await vi.waitUntil(() => !isRunning(seconds), { timeout: 30_000, interval: 100 });
    } finally {
      await running.ended;
      await model.close();
    }
  });
});

/** Runs a client whose model makes the calls of the steps one after the other. Returns what the model got to read. */
async function drive(client: CommandLineClient, steps: readonly Step[]): Promise<readonly ToolResult[]> {
  const script: Script = (results) => steps[results.length]?.call(results);
  const model = await startModel(client.dialect, script);
  try {
    const printed = await startClient(client, bin, model.port, serverCommand(hotcell)).ended;
    const results = model.results();
    expect(results.length, `${printed}\n${model.requests().join('\n')}`).toBe(steps.length);
    return results;
  } finally {
    await model.close();
  }
}

function isRunning(word: string): boolean {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
    } catch {
      return false;
    }
  });
}
