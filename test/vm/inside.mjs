import { existsSync } from 'node:fs';
import { createChecks } from './checks.mjs';
import { hotcellChecks } from './hotcell-checks.mjs';
import { machineChecks } from './machine-checks.mjs';

// It changes the cgroups of the machine it runs on.
if (!process.env.HOTCELL_VM) {
  console.error('This runs inside the virtual machine: node test/vm/run.mjs');
  process.exit(2);
}

const { check, close } = createChecks();
await machineChecks(check);

const built = new URL('../../dist/index.js', import.meta.url);
if (existsSync(built)) {
  let hotcell;
  await check('dist/index.js can be imported', async () => {
    hotcell = await import(built.href);
  });
  if (hotcell) await hotcellChecks(check, hotcell);
} else {
  console.log('# dist/index.js is not built, so only the machine itself is checked');
}
process.exitCode = close();
