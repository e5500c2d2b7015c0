import { join, relative } from 'node:path';
import { packageRoot } from '../../lib/package-root.ts';
import { shellQuoted } from '../../lib/shell-quoted.ts';
import { howItIsCalled } from '../how-called.ts';

/** The next steps, with the command as it can be typed here. */
export function howToGoOn(command: string = howItIsCalled()): string[] {
  return [
    'Go on:',
    `  ${command} doctor`,
    `  ${command} run ${shellQuoted(example('random-walk.py'))} --save-artifacts out`,
    `  ${command} run -c 'print(6 * 7)'`,
    '',
    `Or from a program of your own (more in ${example('')}):`,
    "  import { openHotcell } from 'hotcell';",
    '  const hotcell = await openHotcell();',
    '  const session = await hotcell.open();',
    "  console.log((await session.run('6 * 7')).value.text);",
    '  await hotcell.close();',
  ];
}

/** The path of an example as it can be typed here: relative in a clone, else where Hotcell is installed. */
function example(name: string): string {
  const path = join(packageRoot(), 'examples', name);
  const below = relative(process.cwd(), path);
  return below.startsWith('..') ? path : below;
}
