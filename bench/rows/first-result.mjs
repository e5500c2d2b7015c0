import { setTimeout as sleep } from 'node:timers/promises';
import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell, pandasCode, pandasOutput, timeFirstResult, waitUntilWarm } from '../hotcell.mjs';
import { summarise } from '../statistics.mjs';

const opensPerRepeat = 10;
const pauseMs = 100;
const isolation = 'process';

/**
 * Open a session → first pandas result: the first session of a Hotcell, later ones, sessions in a row, and pooled ones,
 * compared with a plain Jupyter kernel.
 */
export async function measure({ repeats, jupyter }) {
  const samples = { first: [], unpooled: [], inARow: [], pooled: [], jupyter: [], jupyterReply: [] };
  const kernels = jupyter.python === undefined ? undefined : startJupyter(jupyter.python);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    await measureUnpooled(samples);
    if (kernels !== undefined) await measureJupyter(kernels, samples);
    await measurePooled(samples);
  }
  await kernels?.close();
  return tableRows(samples, jupyter);
}

async function measureUnpooled(samples) {
  const hotcell = await benchHotcell({ isolation, poolSize: 0 });
  samples.first.push(await timeFirstResult(hotcell));
  await waitUntilWarm(hotcell);
  for (let open = 0; open < opensPerRepeat; open += 1) {
    await sleep(pauseMs);
    samples.unpooled.push(await timeFirstResult(hotcell));
  }
  for (let open = 0; open < opensPerRepeat; open += 1) samples.inARow.push(await timeFirstResult(hotcell));
  await hotcell.close();
}

async function measurePooled(samples) {
  const hotcell = await benchHotcell({ isolation, poolSize: 1 });
  await waitUntilWarm(hotcell);
  for (let open = 0; open < opensPerRepeat; open += 1) {
    await hotcell.settled();
    samples.pooled.push(await timeFirstResult(hotcell));
  }
  await hotcell.close();
}

async function measureJupyter(kernels, samples) {
  const { durationMs, text } = await kernels.ask('first_result', { code: pandasCode });
  if (text !== pandasOutput) throw new Error(`Jupyter printed ${JSON.stringify(text)}`);
  samples.jupyter.push(durationMs);
  const expression = "int(pd.DataFrame({'a': [1, 2]}).a.sum())";
  const reply = await kernels.ask('first_reply', { code: 'import pandas as pd', expression });
  if (reply.text !== '3') throw new Error(`Jupyter answered ${reply.text}`);
  samples.jupyterReply.push(reply.durationMs);
}

function tableRows(samples, { reason }) {
  const against = (name, measured) => ({
    name,
    ...(reason === undefined ? { samples: measured } : { notTried: reason }),
  });
  const row = (what, ours, more) => ({
    what,
    unit: 'ms',
    ours,
    baseline: against('Jupyter', samples.jupyter),
    ...more,
  });
  const lean = reason === undefined ? summarise(samples.jupyterReply).median : undefined;
  const note =
    lean === undefined
      ? undefined
      : `a Jupyter client that skips wait_for_ready and awaits the reply alone takes ${Math.round(lean)} ms`;
  return [
    row('process: open → first pandas result', samples.unpooled, { target: { timesBetter: 50 }, note }),
    row('process: open → first pandas result, each right after the last was closed', samples.inARow, {}),
    row('process, pooled: open → first pandas result', samples.pooled, { target: { timesBetter: 200 } }),
    row('process: the very first open → pandas result', samples.first, {}),
  ].map((each) => ({ ...each, extra: { jupyterReplyMs: samples.jupyterReply } }));
}
