import { join } from 'node:path';
import { execPath } from 'node:process';
import { parseArgs } from 'node:util';
import { root } from './dependencies.mjs';
import { run } from './run.mjs';

const help = `Usage: npm run fuzz -- [options]

Tries the properties of test/fuzz with random input for longer than npm test does. A failure prints how to repeat it.

  --seconds <n>      for how long each target is tried (60)
  --target <text>    only targets whose name holds this: frames, messages, paths, links, terminal, client-hello, host-names, network-http, forged-guest, forged-kernel
  --seed <n>         begins with this seed, to repeat a run
  --path <path>      with --seed: this very input alone
`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    target: { type: 'string' },
    seed: { type: 'string' },
    path: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}

const env = {
  ...process.env,
  HOTCELL_FUZZ_SECONDS: values.path === undefined ? (values.seconds ?? '60') : '0',
  ...(values.seed === undefined ? {} : { HOTCELL_FUZZ_SEED: values.seed }),
  ...(values.path === undefined ? {} : { HOTCELL_FUZZ_PATH: values.path }),
};
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const only = values.target === undefined ? [] : ['-t', literal(values.target)];
const projects = ['--project', 'full', '--project', 'measured'];
process.exitCode = await run(execPath, [vitest, 'run', ...projects, 'test/fuzz', ...only], { env });

/** Escapes a text for vitest, which expects a regular expression. */
function literal(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
