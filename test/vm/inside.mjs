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

if (process.env.HOTCELL_VM_MACHINE_ONLY) {
  console.log('# only the machine itself is checked, as HOTCELL_VM_MACHINE_ONLY asks');
} else {
  let hotcell;
  await check('dist/index.js is built and can be imported', async () => {
    hotcell = await import(new URL('../../dist/index.js', import.meta.url).href);
  });
  if (hotcell) await hotcellChecks(check, hotcell);
}
process.exitCode = close();
