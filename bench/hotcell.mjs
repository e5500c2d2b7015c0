import { setTimeout as sleep } from 'node:timers/promises';
import { openHotcell } from '../dist/index.js';
import { afterwards } from './cleanup.mjs';
import { NotTried } from './not-tried.mjs';

/** A minimal program that needs pandas, and its output. */
export const pandasCode = "import pandas as pd; print(pd.DataFrame({'a': [1, 2]}).a.sum())";
export const pandasOutput = '3\n';

/** A Hotcell that is closed when the measurement ends, if not before. */
export async function benchHotcell(options) {
  const hotcell = await openHotcell(options);
  const close = afterwards(() => hotcell.close());
  return { open: (wanted) => hotcell.open(wanted).catch(orNotTried), settled: () => settled(hotcell), close };
}

/** Milliseconds from opening a session to its first result; the session is closed again. */
export async function timeFirstResult(hotcell, options = {}) {
  const begin = performance.now();
  const session = await hotcell.open(options);
  await runPandas(session);
  const durationMs = performance.now() - begin;
  await session.close();
  return durationMs;
}

export async function runPandas(session) {
  const result = await session.run(pandasCode);
  if (result.stdout !== pandasOutput)
    throw new Error(`wrong result: ${JSON.stringify(result.outcome)} ${result.stderr}`);
}

/** Opens sessions until one starts with pandas imported: the state that sessions share is fully warm then. */
export async function waitUntilWarm(hotcell, options = {}) {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const session = await hotcell.open(options);
    const { stdout } = await session.run("import sys; print('pandas' in sys.modules)");
    await session.close();
    if (stdout === 'True\n') return;
    await sleep(50);
  }
  throw new Error('no session began with pandas imported within a minute');
}

/** Milliseconds of each of `count` calls in a live session, after a few uncounted ones. */
export async function timeCalls(session, count, { uncounted = 20 } = {}) {
  for (let call = 0; call < uncounted; call += 1) await session.run('1+1');
  const samples = [];
  for (let call = 0; call < count; call += 1) {
    const begin = performance.now();
    const { value } = await session.run('1+1');
    samples.push(performance.now() - begin);
    if (value?.text !== '2') throw new Error('1+1 is not 2');
  }
  return samples;
}

function orNotTried(error) {
  throw error.code === 'driver_unavailable' ? new NotTried(error.message) : error;
}

/**
 * Waits for the pool. It begins to refill in the turn after a claim; before that it would report that there is nothing
 * to do.
 */
async function settled(hotcell) {
  await sleep(5);
  await hotcell.settled();
}
