import { existsSync } from 'node:fs';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { timeDockerRun, timeProgram, whyNoContainers } from '../baselines/docker.mjs';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const code = 'print(1)';
const expected = '1\n';

/**
 * `hotcell run` on an idle machine, from the start of the program to its end; `docker run` and plain Python for
 * comparison.
 */
export async function measure({ repeats, python, image }) {
  const what = 'process: `hotcell run` of print(1), nothing running';
  const target = { below: 200, unit: 'ms' };
  if (!existsSync(cli)) return [{ what, target, notTried: 'there is no dist/cli.js' }];
  const container = { image, runtime: 'runc' };
  const noDocker = await whyNoContainers(container);
  const samples = { ours: [], docker: [], python: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const args = [cli, 'run', '-', '--isolation', 'process'];
    samples.ours.push(await timeProgram(execPath, args, { input: code, expected }));
    if (noDocker === undefined) samples.docker.push(await timeDockerRun(container, code, expected));
    samples.python.push(await timeProgram(python, ['-c', code], { expected }));
  }
  const row = (name, baseline, more) => ({
    what,
    unit: 'ms',
    ours: samples.ours,
    baseline: { name, ...baseline },
    ...more,
  });
  const docker = noDocker === undefined ? { samples: samples.docker } : { notTried: noDocker };
  return [
    row('docker run', docker, { target: { timesBetter: 1 } }),
    row('python3 -c, no sandbox', { samples: samples.python }, { target }),
  ];
}
