import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
const folder = join(tmpdir(), `hc-examples-${process.pid}`);
const chart = join(folder, 'chart.png');
beforeAll(async () => {
  hotcell = await buildHotcell();
  mkdirSync(folder);
});
afterAll(() => {
  hotcell.remove();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** What each example prints, as a whole. */
const printed: Readonly<Record<string, { args?: string[]; lines: (string | RegExp)[] | RegExp }>> = {
  'quick-start.mjs': { lines: ['isolation: process (level 1)', 'x * 7 = 42', 'x / 0: raised ZeroDivisionError'] },
  'streaming.mjs': {
    // Where the machine is busy, two steps may come in one piece.
    lines:
      /^\d+\.\d s {2}stdout: step 1\n(\d+\.\d s {2}stdout: )?step 2\n(\d+\.\d s {2}stdout: )?step 3\n\d+\.\d s {2}stderr: careful\nok, value 'done'$/,
  },
  'files.mjs': {
    lines: [
      'created out/sorted.txt, 17 bytes of text/plain',
      'Ada, Barbara, Grace',
      /^bad_path: .*leaves the workspace"$/,
    ],
  },
  'variables.mjs': {
    lines: [
      'added: big, total',
      /^cities: pandas.DataFrame, 3 rows × 2 columns: city \w+, inhabitants int64$/,
      /^big: pandas.DataFrame, 2 rows × 2 columns: city \w+, inhabitants int64$/,
      'total: int, 1420806',
      'Köln: 1084831',
      'Aachen: 249070',
      '710403.0',
      'cities["in → inhabitants',
    ],
  },
  'timeout.mjs': {
    lines: ['timed-out after 500 ms, state kept', 'found more than 1000: True', 'interrupted'],
  },
  'chart.mjs': { args: [chart], lines: [`image/png, saved to ${chart}`] },
};

describe('the examples', () => {
  it('are all tested', () => {
    const names = readdirSync(join(root, 'examples')).filter((name) => name.endsWith('.mjs'));
    expect(names.sort()).toEqual(Object.keys(printed).sort());
  });

  it.each(Object.keys(printed))('%s prints what it says and leaves nothing behind', async (name) => {
    const { args = [], lines } = printed[name]!;
    const { exitCode, stdout, stderr } = await hotcell.run([`examples/${name}`, ...args]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    if (lines instanceof RegExp) expect(stdout.trimEnd()).toMatch(lines);
    else {
      expect(stdout.trimEnd().split('\n')).toEqual(
        lines.map((line) => (typeof line === 'string' ? line : expect.stringMatching(line))),
      );
    }
    expect(hotcell.leftovers()).toEqual([]);
  });

  it('chart.mjs makes a picture', () => {
    expect(readFileSync(chart).subarray(1, 4).toString()).toBe('PNG');
  });

  it('sales.ipynb runs, and shows its values and its chart', async () => {
    const flags = ['--mount', `${join(root, 'examples/sales')}:/data`, '--save-artifacts', join(folder, 'sales')];
    const { exitCode, stdout, stderr } = await hotcell.run(['dist/cli.js', 'run', 'examples/sales.ipynb', ...flags]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^144\nregion\neast +2523\n/) });
    expect(stderr).toMatch(/saved .*figure-1\.png/);
  });

  it('random-walk.py gives a figure that it neither saves nor shows', async () => {
    const args = ['dist/cli.js', 'run', 'examples/random-walk.py', '--save-artifacts', folder];
    const { exitCode, stdout } = await hotcell.run(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^after 1000 steps: /) });
    expect(readFileSync(join(folder, 'figure-1.png')).subarray(1, 4).toString()).toBe('PNG');
  });
});
