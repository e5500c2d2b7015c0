import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { root } from './dependencies.mjs';
import { capture, run } from './run.mjs';
import { prepare } from './steps.mjs';

const measurements = {
  'first-result': 'process: open a session → first pandas result, unpooled, pooled and the very first, against Jupyter',
  'round-trip': 'process: 1+1 in a live session, against Jupyter',
  'rich-result': 'process: a frame as the value, text and HTML, against Jupyter and against its text alone',
  variables: 'process: variables of a session with 1,000 names and a 1 GB frame, and completion',
  javascript: 'process: JavaScript and TypeScript in a live session, against a Node that is started for it',
  'idle-memory': 'process: memory of an idle session with pandas, against Jupyter',
  'mcp-stdio': 'mcp: start of the stdio server, and what it adds to a call',
  'cold-start': '`hotcell run` with nothing running',
  'fifty-at-once': 'process: fifty sessions opened at once',
  http: 'process: a server over HTTP, a hundred clients at once',
  flood: 'process: a gigabyte of output',
  printing: 'docker, gvisor: 200,000 printed lines, against process',
  growth: 'process: from 1 to 200 sessions',
  docker:
    'docker: pooled first result and calls, against docker run and docker exec; sessions in a row, against Jupyter',
  gvisor: 'gvisor: the same under runsc',
  network: 'bytes through the tunnel of a session, against a container on a bridge network; small requests',
  packages: 'a first installation, against uv on the host; the same in a second session',
};

const help = `Usage: npm run bench -- [options]

Measures Hotcell beside what it is compared with, and prints a table. Minutes; nothing else should run meanwhile.

  --repeats <n>       how often each measurement is taken (5)
  --only <names>      some of the measurements, separated by commas
  --json              the result as JSON on stdout, in place of the table
  --update-readme     put the table into bench/README.md, and its main rows into README.md, between
                      <!-- bench --> and <!-- /bench -->

Measurements:
${Object.entries(measurements)
  .map(([name, what]) => `  ${name.padEnd(18)}${what}`)
  .join('\n')}

Every sample is kept in bench/results/<time>.json.
`;

async function bench({ repeats, only, json, updateReadme }) {
  const steps = await prepare();
  await build(steps, { types: false });
  if (existsSync(join(root, 'dist/cli.js'))) await setUpDrivers();
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => abort.abort());
  // Imported late, because they import the build from above.
  const { measureAll } = await import('../bench/measure-all.mjs');
  const { keepResult, terminalText, updateReadme: writeReadme } = await import('../bench/report.mjs');
  const result = await measureAll(steps, { names: only, repeats, signal: abort.signal });
  const file = keepResult(result);
  process.stdout.write(`${json ? JSON.stringify(result, null, 2) : terminalText(result)}\n`);
  steps.report({ kind: 'note', text: `Every sample: ${file}` });
  if (updateReadme) writeReadme(result, file);
  return result.rows.some((row) => row.failed) ? 1 : 0;
}

/**
 * Sets up the drivers. One that fails is shown as not tried. gVisor takes minutes to build, so it is used only if it is
 * installed.
 */
async function setUpDrivers() {
  const setUp = (driver) =>
    run(execPath, ['dist/cli.js', 'setup', driver], { stdio: ['inherit', 'ignore', 'inherit'] });
  if (process.platform === 'linux') await setUp('process');
  const { exitCode, output } = await capture('docker', ['info', '--format', '{{json .Runtimes}}']);
  if (exitCode === 0) await setUp(output.includes('"runsc"') ? 'gvisor' : 'docker');
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      repeats: { type: 'string', default: '5' },
      only: { type: 'string' },
      json: { type: 'boolean', default: false },
      'update-readme': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const repeats = Number(values.repeats);
  if (!Number.isInteger(repeats) || repeats < 1)
    throw new Error(`--repeats ${values.repeats}: a whole number from 1 on`);
  const only = values.only?.split(',') ?? Object.keys(measurements);
  const unknown = only.filter((name) => !(name in measurements));
  if (unknown.length > 0)
    throw new Error(`--only ${unknown.join(',')}: choose from ${Object.keys(measurements).join(', ')}`);
  return { repeats, only, json: values.json, updateReadme: values['update-readme'], help: values.help };
}

try {
  const options = readOptions();
  if (options.help) process.stdout.write(help);
  else process.exitCode = await bench(options);
} catch (error) {
  const interrupted = error.name === 'AbortError';
  process.stderr.write(`${interrupted ? 'Interrupted. What was started has been ended.' : error.message}\n`);
  process.exitCode = interrupted ? 130 : 1;
}
