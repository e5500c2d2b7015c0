import { freemem } from 'node:os';
import { benchHotcell, runPandas, waitUntilWarm } from '../hotcell.mjs';
import { descendants, proportionalBytes } from '../process-tree.mjs';
import { summarise } from '../statistics.mjs';

const marks = [1, 50, 100, 200];
const recent = 10;
const leastFreeBytes = 2_000_000_000;
const MB = 1_000_000;

/**
 * Sessions opened one after another and kept open: the time of one more, and the memory of all, as their number grows.
 */
export async function measure({ repeats }) {
  const samples = marks.map(() => ({ open: [], memory: [], host: [] }));
  for (let repeat = 0; repeat < repeats; repeat += 1) await grow(samples);
  return marks.flatMap((count, index) => rowsAt(count, samples[index]));
}

async function grow(samples) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0, maxSessions: marks.at(-1) + 1 });
  await waitUntilWarm(hotcell);
  const hostBefore = process.memoryUsage.rss();
  const times = [];
  for (const [index, count] of marks.entries()) {
    while (times.length < count && freemem() > leastFreeBytes) {
      const begin = performance.now();
      await runPandas(await hotcell.open());
      times.push(performance.now() - begin);
    }
    if (times.length < count) break;
    samples[index].open.push(summarise(times.slice(-recent)).median);
    samples[index].memory.push(proportionalBytes(descendants(process.pid)) / MB);
    samples[index].host.push((process.memoryUsage.rss() - hostBefore) / MB);
  }
  await hotcell.close();
}

function rowsAt(count, { open, memory, host }) {
  const name = `process: ${count} ${count === 1 ? 'session' : 'sessions'} open`;
  if (open.length === 0) return [{ what: name, notTried: `less than ${leastFreeBytes / MB} MB of memory were free` }];
  return [
    { what: `${name}, open one → pandas result`, unit: 'ms', ours: open },
    { what: `${name}, memory of all`, unit: 'MB', ours: memory, extra: { hostGrowthMB: host } },
  ];
}
