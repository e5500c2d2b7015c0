import { existsSync } from 'node:fs';
import { benchHotcell, timeCalls } from '../hotcell.mjs';
import { cli, startMcp } from '../mcp-over-stdio.mjs';
import { summarise } from '../statistics.mjs';

const callsPerRepeat = 200;
const start = 'mcp: start of the stdio server to tools/list';
const call = 'mcp: run_code of 1+1 over stdio';

/** The stdio server from a client's view: the time until its tools are listed, and its overhead per call. */
export async function measure({ repeats }) {
  if (!existsSync(cli)) return [start, call].map((what) => ({ what, notTried: 'there is no dist/cli.js' }));
  return [await startRow(repeats), await callRow(repeats)];
}

async function startRow(repeats) {
  const ours = [];
  for (let repeat = 0; repeat < Math.max(repeats, 5); repeat += 1) {
    const startedAt = performance.now();
    const server = startMcp();
    await server.open();
    await server.ask('tools/list');
    ours.push(performance.now() - startedAt);
    await server.close();
  }
  return { what: start, unit: 'ms', ours, target: { atMost: 250, unit: 'ms' } };
}

async function callRow(repeats) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  const session = await hotcell.open();
  const server = startMcp();
  await server.open();
  for (let warm = 0; warm < 50; warm += 1) await server.runCode('1+1');
  await timeCalls(session, 50);
  const [ours, core] = [[], []];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    core.push(...(await timeCalls(session, callsPerRepeat)));
    for (let count = 0; count < callsPerRepeat; count += 1) {
      const startedAt = performance.now();
      await server.runCode('1+1');
      ours.push(performance.now() - startedAt);
    }
  }
  await server.close();
  await hotcell.close();
  const addedMs = summarise(ours).median - summarise(core).median;
  return {
    what: call,
    unit: 'ms',
    ours,
    baseline: { name: 'the library', samples: core },
    target: { text: `adds at most 1 ms: ${addedMs.toFixed(2)}`, met: addedMs <= 1 },
  };
}
