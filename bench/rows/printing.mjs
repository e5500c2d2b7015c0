import { benchHotcell } from '../hotcell.mjs';

const lines = 200_000;
const code = `for line in range(${lines}): print("line", line)`;
const drivers = ['docker', 'gvisor'];

/**
 * A program prints many short lines, each by a call of its own: containers beside `process`. A system call for each line
 * would cost gVisor several times as much.
 */
export async function measure({ repeats }) {
  const beside = await openSession('process');
  const rows = [];
  for (const isolation of drivers) rows.push(await measureDriver(isolation, beside, repeats));
  return rows;
}

async function measureDriver(isolation, beside, repeats) {
  const what = `${isolation}: ${lines.toLocaleString('en-US')} lines printed`;
  const target = { timesBetter: 0.5, text: 'at most twice as long' };
  const session = await openSession(isolation).catch((error) => error);
  if (session instanceof Error) return { what, target, notTried: session.message };
  const samples = { ours: [], process: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    samples.ours.push(await timePrinting(session));
    samples.process.push(await timePrinting(beside));
  }
  await session.close();
  return { what, unit: 'ms', ours: samples.ours, baseline: { name: 'process', samples: samples.process }, target };
}

/** A session that has printed once, so that no first time is measured. */
async function openSession(isolation) {
  const hotcell = await benchHotcell({ isolation, poolSize: 0 });
  const session = await hotcell.open();
  await timePrinting(session);
  return session;
}

/** Milliseconds until the result is there. All lines must have arrived, in the result or in its count of what it omits. */
async function timePrinting(session) {
  const begin = performance.now();
  const { outcome, stdout, truncation } = await session.run(code, { timeoutMs: 300_000 });
  const durationMs = performance.now() - begin;
  const arrived = stdout.split('\n').length - 1 + (truncation?.stdoutDroppedLines ?? 0);
  if (outcome.kind !== 'ok' || !stdout.endsWith(`line ${lines - 1}\n`) || arrived < lines)
    throw new Error(`${arrived} of ${lines} lines arrived: ${JSON.stringify(outcome)}`);
  return durationMs;
}
