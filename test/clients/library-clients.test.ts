import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Clients } from '../../scripts/clients.mjs';
import { ensureClients } from '../../scripts/clients.mjs';
import { type BuiltHotcell, buildHotcell } from '../e2e/built-hotcell.ts';
import { expectJourney, JOURNEY, LONG_RUN, type Step } from './journey.ts';
import { type ConnectedLibrary, connectLibrary, LIBRARY_CLIENTS, type LibraryClient } from './library-client.ts';
import type { ToolResult } from './model/dialect.ts';
import { removeWhenEnded, serverCommand } from './server-command.ts';

let clients: Clients;
let hotcell: BuiltHotcell;
beforeAll(async () => {
  clients = await ensureClients();
  hotcell = await buildHotcell();
});
afterAll(() => hotcell && removeWhenEnded(hotcell));

describe.concurrent.each(LIBRARY_CLIENTS)('$name', (client) => {
  it('hands on pictures, text and errors as Hotcell wrote them', async () => {
    await using library = connect(client);
    expectJourney(JOURNEY, await walk(library, JOURNEY));
  });

  it('cancels a run, and the variables are kept', async () => {
    await using library = connect(client);
    await library.call(run('kept = 5'));
    // Where the server is not told of the cancel, the run ends by its own limit.
    const timeout_ms = client.tellsOfCancel ? 250_000 : 4_000;
    const cancelled = await library.call(run('import time\ntime.sleep(600)', { timeout_ms }), { cancelAfterMs: 2_000 });
    expect(cancelled.text).toBe('cancelled');
    const begun = Date.now();
    expect((await library.call(run('kept'))).text).toContain('5');
    expect(Date.now() - begun).toBeLessThan(60_000);
  });
});

it('a run of 75 seconds outlasts the 60 seconds of the TypeScript SDK v1, and its result arrives', async () => {
  await using library = connect(LIBRARY_CLIENTS[0] as LibraryClient);
  expectJourney(LONG_RUN, await walk(library, LONG_RUN));
});

function connect(client: LibraryClient): ConnectedLibrary & AsyncDisposable {
  const runtimes = { node: process.execPath, python: clients.python, frameworks: clients.frameworks };
  const library = connectLibrary(client, runtimes[client.runtime], serverCommand(hotcell), clients.folder);
  return { ...library, [Symbol.asyncDispose]: library.close };
}

async function walk(library: ConnectedLibrary, steps: readonly Step[]): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  for (const { call } of steps) results.push(await library.call(call(results)));
  return results;
}

const run = (code: string, more = {}) => ({ tool: 'run_code', arguments: { code, ...more } });
