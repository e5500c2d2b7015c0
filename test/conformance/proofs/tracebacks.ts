import { expect } from 'vitest';
import type { Execution, Raised } from '../../../src/index.ts';
import type { Requirement } from '../context.ts';

const NEEDS_PACKAGES = { bare: 'needs what the environment has; proved on every real driver' };

export const tracebackRequirements: readonly Requirement[] = [
  {
    id: 'traceback:lines',
    tag: 'guest',
    title: 'a traceback shows the lines around the failing one, libraries and recursion in a line, and nothing of ours',
    prove: async ({ session }) => {
      const library = await raised(
        session.run('import json\n\ndef load(text):\n    return json.loads(text)\n\nload("{")', {
          filename: 'load.py',
        }),
      );
      expect(library.traceback.slice(0, 5)).toEqual([
        'Traceback (most recent call last):',
        '  File "load.py", line 6, in <module>',
        '    4 |     return json.loads(text)',
        '    5 |',
        '  > 6 | load("{")',
      ]);
      const text = library.traceback.join('\n');
      expect(text).toContain('  > 4 |     return json.loads(text)');
      expect(text).toMatch(/… \d frames in json, the last in line \d+ of decoder.py, in raw_decode/);
      expect(text).not.toContain('hotcell');
      expect(library.frames?.at(-1)).toMatchObject({ function: 'raw_decode', own: false });
      expect(library.frames?.filter(({ own }) => own)).toEqual([
        { file: 'load.py', line: 6, function: '<module>', own: true },
        { file: 'load.py', line: 4, function: 'load', own: true },
      ]);
      const recursion = await raised(session.run('def f(n):\n    return f(n + 1)\nf(0)'));
      expect(recursion.traceback.length).toBeLessThan(20);
      expect(recursion.traceback.join('\n')).toMatch(/the frame above, \d+ times more/);
      const syntax = await raised(session.run('x = 1\ny = (2'));
      expect(syntax.traceback.join('\n')).toMatch(/ {2}> 2 \| y = \(2\n +\| +\^/);
    },
  },
  {
    id: 'traceback:names',
    tag: 'guest',
    title: 'on request a traceback shows the names and short values where it failed, and runs nothing to make them',
    prove: async ({ session }) => {
      const code = `
class Loop:
    def __repr__(self):
        while True: pass
def f(count):
    loop, text = Loop(), "x" * 1_000_000
    return count / 0
f(7)`;
      const shown = (await raised(session.run(code, { tracebackLocals: true, timeoutMs: 5000 }))).traceback.join('\n');
      expect(shown).toContain('    count = 7');
      expect(shown).toContain('    loop = <Loop>');
      expect(shown.length).toBeLessThan(2000);
      expect((await raised(session.run(code))).traceback.join('\n')).not.toContain('count = 7');
    },
  },
  {
    id: 'traceback:hints',
    tag: 'guest',
    title: 'where something certain helps, the outcome says it',
    prove: async ({ session }) => {
      await session.files.write('data/sales.csv', 'a\n1\n');
      const hints: [code: string, hint: RegExp][] = [
        ['import jwt', /'jwt' comes with the package 'pyjwt'/],
        ['import cv2', /opencv-python/],
        ['length = 1\nlenght', /Did you mean 'length'\?/],
        ['import math\nmath.sqr(2)', /Did you mean 'sqrt'\?/],
        ['open("sales.csv")', /The workspace has 'data\/sales.csv'/],
      ];
      for (const [code, expected] of hints)
        expect((await raised(session.run(code))).hint ?? '', code).toMatch(expected);
    },
  },
  {
    id: 'traceback:missing-package',
    tag: 'guest',
    title: 'a missing package is answered with how to install it, or with who can add it',
    exempt: { bare: 'packages are built in a sandbox of the driver' },
    prove: async ({ session, fresh }) => {
      const hintOf = async (one: typeof session) => (await raised(one.run('import xgboost'))).hint;
      expect(await hintOf(session)).toMatch(/Use sklearn\.ensemble.*`%pip install xgboost` installs it/);
      expect(await hintOf(await fresh({ mayInstall: false }))).toMatch(/Use sklearn.*docs\/guides\/packages\.md/);
    },
  },
  {
    id: 'traceback:columns',
    tag: 'guest',
    title: 'a column that is not there is answered with the nearest ones',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const frame = 'import pandas as pd\ndf = pd.DataFrame({"price_eur": [1], "Name": [2]})\n';
      expect((await raised(session.run(`${frame}df["price_euro"]`))).hint).toMatch(/Near it: 'price_eur'/);
      expect((await raised(session.run(`${frame}df.groupby("name").sum()`))).hint ?? '').toMatch(/^$|'Name'/);
      const { traceback } = await raised(session.run('df["x"]'));
      expect(traceback.join('\n')).toMatch(/… \d frames? in pandas/);
      expect(traceback.filter((line) => line.includes('.pyx'))).toEqual([]);
    },
  },
  {
    id: 'traceback:exhausted',
    tag: 'guest',
    title: 'an exception is told even where the code has used up what telling it needs',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const full = 'files = []\nwhile True: files.append(open("/dev/null"))';
      expect((await raised(session.run(full))).name).toBe('OSError');
      expect((await session.run('files.clear(); 1')).value?.text).toBe('1');
      const broken = 'import builtins\nbuiltins.__import__ = None\nundefined_name';
      expect((await raised(session.run(broken))).message).toContain('undefined_name');
    },
  },
  {
    id: 'warning:once',
    tag: 'guest',
    title: 'a warning is shown once for each place and execution, with the line of the user',
    prove: async ({ session }) => {
      const code = `import warnings
for turn in range(3):
    with warnings.catch_warnings(): pass
    warnings.warn("old")
warnings.warn("theirs", stacklevel=5)`;
      for (let turn = 0; turn < 2; turn += 1) {
        const { stderr } = await session.run(code, { filename: 'w.py' });
        expect(stderr.match(/UserWarning: old/g)).toHaveLength(1);
        expect(stderr).toContain('w.py:4: UserWarning: old\n  warnings.warn("old")\n');
        expect(stderr).toContain('w.py:5: UserWarning: theirs');
        expect(stderr).not.toContain('hotcell');
      }
    },
  },
];

async function raised(run: Execution): Promise<Raised> {
  const { outcome, stderr } = await run;
  expect(outcome.kind, stderr).toBe('raised');
  return outcome as Raised;
}
