import { basename } from 'node:path';

/** The next steps, with the command as it can be typed here. */
export function howToGoOn(command: string = howItWasCalled()): string[] {
  return [
    'Go on:',
    `  ${command} doctor`,
    `  ${command} run examples/random-walk.py --save-artifacts out`,
    `  echo 'print(6 * 7)' | ${command} run -`,
    '',
    'Or from a program of your own (more in examples/):',
    "  import { openHotcell } from 'hotcell';",
    '  const hotcell = await openHotcell();',
    '  const session = await hotcell.open();',
    "  console.log((await session.run('6 * 7')).value.text);",
    '  await hotcell.close();',
  ];
}

/** `npm start` runs the built file of a clone, where no `hotcell` is on the search path. */
function howItWasCalled(): string {
  return basename(process.argv[1] ?? '') === 'cli.js' ? 'npx hotcell' : 'hotcell';
}
