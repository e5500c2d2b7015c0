import { benchHotcell, waitUntilWarm } from '../hotcell.mjs';

const callsPerRepeat = 100;
const setUp = `
import numpy as np, pandas as pd
frame = pd.DataFrame(np.zeros((12_500_000, 10)), copy=False)
globals().update({f"name_{number}": number for number in range(996)})
words = ["word"] * 100
class Plant:
    def start_up(self, fuel_rods): pass
plant = Plant()`;

/** The cost of listing a full session's variables, of a page of a frame of a gigabyte, and of a completion. */
export async function measure({ repeats }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  await waitUntilWarm(hotcell);
  const session = await hotcell.open();
  const { outcome } = await session.run(setUp);
  if (outcome.kind !== 'ok') throw new Error(`the session could not be filled: ${JSON.stringify(outcome)}`);
  const samples = { list: [], page: [], complete: [], attribute: [] };
  const calls = {
    list: async () => (await session.variables.list({ limit: 1000 })).variables.length === 1000,
    page: async () => (await session.variables.get('frame', { offset: 12_000_000 })).page.rows.length === 100,
    complete: async () => (await session.complete('name_99')).matches.length === 7,
    attribute: async () => (await session.complete('plant.st')).matches[0]?.text === 'start_up',
  };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (const [name, call] of Object.entries(calls)) samples[name].push(...(await timed(name, call)));
  }
  await hotcell.close();
  const full = 'in a session with 1,000 names and a 1 GB frame';
  return [
    { what: `process: list the variables ${full}`, unit: 'ms', ours: samples.list },
    { what: `process: a page of 100 rows of a 1 GB frame`, unit: 'ms', ours: samples.page },
    { what: `process: complete a name ${full}`, unit: 'ms', ours: samples.complete, target: { below: 5, unit: 'ms' } },
    { what: 'process: complete an attribute', unit: 'ms', ours: samples.attribute, target: { below: 5, unit: 'ms' } },
  ];
}

async function timed(name, call) {
  for (let warm = 0; warm < 5; warm += 1) await call();
  const samples = [];
  for (let count = 0; count < callsPerRepeat; count += 1) {
    const begin = performance.now();
    const right = await call();
    samples.push(performance.now() - begin);
    if (!right) throw new Error(`${name}: a wrong answer`);
  }
  return samples;
}
