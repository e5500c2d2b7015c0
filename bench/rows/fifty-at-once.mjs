import { benchHotcell, runPandas, waitUntilWarm } from '../hotcell.mjs';

const sessionCount = 50;

/** Fifty concurrent callers, each of which opens a session and runs pandas. */
export async function measure({ repeats }) {
  const samples = { total: [], slowest: [] };
  let answered = 0;
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
    await waitUntilWarm(hotcell);
    const begin = performance.now();
    const times = await Promise.all(Array.from({ length: sessionCount }, () => openOne(hotcell)));
    samples.total.push(performance.now() - begin);
    samples.slowest.push(Math.max(...times));
    answered += times.length;
    await hotcell.close();
  }
  const target = { text: 'all answered', met: answered === repeats * sessionCount };
  const row = (what, ours, more) => ({
    what: `process: ${sessionCount} sessions at once, ${what}`,
    unit: 'ms',
    ours,
    ...more,
  });
  return [row('all answered', samples.total, { target }), row('the slowest of them', samples.slowest, {})];
}

async function openOne(hotcell) {
  const begin = performance.now();
  await runPandas(await hotcell.open());
  return performance.now() - begin;
}
