import { spawnSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipReason = await reasonToSkip(TARGETS.shared);
const TIMES = strength({ plain: 4, all: 12 });

// Nothing else may hold the event loop: no timer, no channel to a parent.
const PROGRAM = `
const { openHotcell } = await import(process.argv[1]);
const hotcell = await openHotcell({ isolation: 'process', preloads: [], poolSize: 0 });
const session = await hotcell.open();
await session.run('1 + 1');
await session.close();
await hotcell.close();
console.log('closed');
`;

beforeAll(() => buildOnce());

it.skipIf(skipReason !== undefined)(`a program that closes its Hotcell gets to its last line, and ends`, () => {
  const { home, remove } = makeHome();
  const library = new URL('../../dist/index.js', import.meta.url).href;
  const ends = Array.from({ length: TIMES }, () => {
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM, library], {
      env: { ...process.env, HOTCELL_HOME: home },
      encoding: 'utf8',
      timeout: 20_000,
    });
    return `${stdout.trim()}, exit code ${status}`;
  });
  remove();
  expect(ends).toEqual(Array.from({ length: TIMES }, () => 'closed, exit code 0'));
});
