import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell, timeCalls, waitUntilWarm } from '../hotcell.mjs';

const callsPerRepeat = 1000;
const firstCalls = 100;
const callsBefore = 2500;

/**
 * `1+1` in a live session and in a live Jupyter kernel, alternating. Both are warm and have answered equally often, and
 * V8 has compiled the hot code. A row of its own shows the first calls.
 */
export async function measure({ repeats, jupyter }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  await waitUntilWarm(hotcell);
  const session = await hotcell.open();
  const kernels = jupyter.python === undefined ? undefined : startJupyter(jupyter.python);
  await kernels?.ask('open');
  const theirCalls = async (count) => (await kernels.ask('calls', { code: '1+1', count })).samples;
  const first = { ours: await timeCalls(session, firstCalls, { uncounted: 0 }), theirs: [] };
  if (kernels !== undefined) first.theirs.push(...(await theirCalls(firstCalls)));
  await timeCalls(session, callsBefore);
  if (kernels !== undefined) await theirCalls(callsBefore);
  const later = { ours: [], theirs: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    later.ours.push(...(await timeCalls(session, callsPerRepeat)));
    if (kernels !== undefined) later.theirs.push(...(await theirCalls(callsPerRepeat)));
  }
  await kernels?.close();
  await hotcell.close();
  const row = (what, { ours, theirs }, more) => ({
    what,
    unit: 'ms',
    ours,
    baseline: { name: 'Jupyter', ...(kernels === undefined ? { notTried: jupyter.reason } : { samples: theirs }) },
    ...more,
  });
  return [
    row('process: 1+1 in a live session', later, { target: { timesBetter: 10 } }),
    row(`process: 1+1 in a live session, its first ${firstCalls} calls`, first),
  ];
}
