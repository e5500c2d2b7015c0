import { basename } from 'node:path';

/** What to try next, with the command as it can be typed here. */
export function howToGoOn(command: string = howItWasCalled()): string[] {
  return [
    'Go on:',
    `  ${command} doctor                           what works on this machine, and what would be stronger`,
    `  ${command} run examples/sales/summary.py --mount examples/sales:/workspace --save-artifacts out`,
    `  echo 'print(6 * 7)' | ${command} run -      any program, from a file or stdin`,
    '',
    'Or from your own program:',
    "  import { openHotcell } from 'hotcell';",
    '  await using hotcell = await openHotcell();',
    '  await using session = await hotcell.open();',
    "  console.log((await session.run('6 * 7')).value?.text);",
  ];
}

/** `npm start` runs the built file of a clone, where no `hotcell` is on the search path. */
function howItWasCalled(): string {
  return basename(process.argv[1] ?? '') === 'cli.js' ? 'npx hotcell' : 'hotcell';
}
