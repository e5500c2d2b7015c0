import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell, waitUntilWarm } from '../hotcell.mjs';
import { descendants, proportionalBytes } from '../process-tree.mjs';

const sessionCount = 20;
const MB = 1_000_000;

/**
 * Proportional set size of idle sessions that have imported pandas, compared with a Jupyter kernel in the same state.
 */
export async function measure({ repeats, jupyter }) {
  const samples = { each: [], allIn: [], jupyter: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    await measureSessions(samples);
    // Not at the same time: pages of libraries that both map would count half for each.
    if (jupyter.python !== undefined) samples.jupyter.push(await measureKernel(jupyter.python));
  }
  const baseline = jupyter.python === undefined ? { notTried: jupyter.reason } : { samples: samples.jupyter };
  const row = (what, ours) => ({
    what,
    unit: 'MB',
    ours,
    baseline: { name: 'Jupyter', ...baseline },
    target: { timesBetter: 8 },
  });
  return [
    row('process: memory that an idle session with pandas adds', samples.each),
    row(`process: the same, all that ${sessionCount} sessions share counted in`, samples.allIn),
  ];
}

async function measureSessions(samples) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  await waitUntilWarm(hotcell);
  const before = proportionalBytes(descendants(process.pid));
  for (let count = 0; count < sessionCount; count += 1) {
    const session = await hotcell.open();
    await session.run('import pandas as pd');
  }
  const after = proportionalBytes(descendants(process.pid));
  await hotcell.close();
  samples.each.push((after - before) / sessionCount / MB);
  samples.allIn.push(after / sessionCount / MB);
}

async function measureKernel(python) {
  const kernels = startJupyter(python);
  const { pid } = await kernels.ask('open');
  await kernels.ask('run', { code: 'import pandas as pd' });
  const bytes = proportionalBytes([pid, ...descendants(pid)]);
  await kernels.close();
  return bytes / MB;
}
