import { whyNoContainers } from '../baselines/docker.mjs';
import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell, pandasCode, pandasOutput, timeFirstResult } from '../hotcell.mjs';

const sessionsInARow = 10;

/**
 * Ten sessions of a container driver, each opened as soon as the last is closed, so that the pool is never full.
 * Compared with as many Jupyter kernels.
 */
export async function measureInARow({ repeats, image, jupyter }, { isolation, runtime }) {
  const what = `${isolation}: open → first pandas result, ten in a row, each right after the last was closed`;
  const target = { timesBetter: 1 };
  const missing = await whyNoContainers({ image, runtime });
  if (missing !== undefined) return [{ what, target, notTried: missing }];
  const kernels = jupyter.python === undefined ? undefined : startJupyter(jupyter.python);
  const samples = { ours: [], closed: [], jupyter: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    await measureSessions(samples, isolation);
    for (let kernel = 0; kernels !== undefined && kernel < sessionsInARow; kernel += 1) {
      const { durationMs, text } = await kernels.ask('first_result', { code: pandasCode });
      if (text !== pandasOutput) throw new Error(`Jupyter printed ${JSON.stringify(text)}`);
      samples.jupyter.push(durationMs);
    }
  }
  await kernels?.close();
  const baseline = {
    name: 'Jupyter',
    ...(kernels === undefined ? { notTried: jupyter.reason } : { samples: samples.jupyter }),
  };
  return [
    { what, unit: 'ms', ours: samples.ours, baseline, target },
    { what: `${isolation}: close, in the same run`, unit: 'ms', ours: samples.closed },
  ];
}

/** Measures sessions. The first session of a Hotcell is not counted: the cold rows show it. */
async function measureSessions(samples, isolation) {
  const hotcell = await benchHotcell({ isolation, poolSize: 1 });
  await timeFirstResult(hotcell);
  for (let open = 0; open < sessionsInARow; open += 1) {
    const begin = performance.now();
    const resultMs = await timeFirstResult(hotcell);
    samples.ours.push(resultMs);
    samples.closed.push(performance.now() - begin - resultMs);
  }
  await hotcell.close();
}
