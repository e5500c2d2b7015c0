import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell, timeCalls } from '../hotcell.mjs';

const callsPerRepeat = 200;

/** `1+1` in a live session and in a live Jupyter kernel, in turns. */
export async function measure({ repeats, jupyter }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  const session = await hotcell.open();
  const kernels = jupyter.python === undefined ? undefined : startJupyter(jupyter.python);
  await kernels?.ask('open');
  await kernels?.ask('calls', { code: '1+1', count: 20 });
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
