import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell, timeCalls, waitUntilWarm } from '../hotcell.mjs';

const callsPerRepeat = 300;
const callsBefore = 300;

/** `1+1` in a live session and in a live Jupyter kernel, in turns; both have loaded what they load and answered as often before. */
export async function measure({ repeats, jupyter }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  await waitUntilWarm(hotcell);
  const session = await hotcell.open();
  await timeCalls(session, callsBefore);
  const kernels = jupyter.python === undefined ? undefined : startJupyter(jupyter.python);
  await kernels?.ask('open');
  await kernels?.ask('calls', { code: '1+1', count: callsBefore });
  const [ours, theirs] = [[], []];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    ours.push(...(await timeCalls(session, callsPerRepeat)));
    if (kernels === undefined) continue;
    theirs.push(...(await kernels.ask('calls', { code: '1+1', count: callsPerRepeat })).samples);
  }
  await kernels?.close();
  await hotcell.close();
  const baseline = kernels === undefined ? { notTried: jupyter.reason } : { samples: theirs };
  return [
    {
      what: 'process: 1+1 in a live session',
      unit: 'ms',
      ours,
      baseline: { name: 'Jupyter', ...baseline },
      target: { timesBetter: 10 },
    },
  ];
}
