import { describe, expect, it } from 'vitest';
import { threadMs } from '../../../test/support/thread-time.ts';
import { continuationOf } from './continuation.ts';

const runs: [string, string[]][] = [
  [
    'python',
    [
      '1 + 1',
      '',
      'x = {"a": [1, 2]}',
      'print("(")',
      "print('it is # no comment')",
      'x = 1  # (',
      'def f():\n    return 1\n',
      'def f():\n    return 1\n    ',
      'f(\n  1,\n  2)',
      '[x\nfor x in y\nif x]',
      '"""a\nb"""',
      'for x in y: print(x)\n',
      '%timeit f()',
      'x[1:2]',
      "x = 'never ended",
      ')',
    ],
  ],
  ['javascript', ['1 + 1', 'f(() => { return 1; })', 'const s = `a\nb`', '// {', "'{'", 'const r = {\n a: 1\n}']],
  [
    'bash',
    [
      'ls',
      'echo "a b" | wc',
      'if true; then echo yes; fi',
      'for x in 1 2; do echo $x; done',
      "echo '\\'",
      'f() { echo; }',
    ],
  ],
  ['bash', ['if true; then\n  echo yes\nfi', 'cat <<E\ntext\nE', 'while true; do\n', 'echo if', 'echo $#']],
  ['ruby', ['1 + 1']],
];

const goesOn: [string, string, string][] = [
  ['python', 'def f():', '    '],
  ['python', 'def f():\n    if x:', '        '],
  ['python', 'def f():\n    x = 1', '    '],
  ['python', 'def f():\n    return 1', ''],
  ['python', 'for x in y: print(x)', ''],
  ['python', 'if x:  # why', '    '],
  ['python', 'f(', '    '],
  ['python', 'f(1,', ''],
  ['python', 'x = """a', ''],
  ['python', 'x = """a\n', ''],
  ['python', 'x = 1 + \\', ''],
  ['python', '@decorated', ''],
  ['python', '@decorated\n', ''],
  ['python', '%%time', ''],
  ['javascript', 'function f() {', '    '],
  ['javascript', 'const s = `a', ''],
  ['typescript', 'interface A {\n    b: number;', '    '],
  ['bash', 'if true; then', '    '],
  ['bash', 'for x in 1 2; do', '    '],
  ['bash', 'echo "a', ''],
  ['bash', 'ls |', ''],
  ['bash', 'ls \\', ''],
  ['bash', 'f() {', '    '],
  ['bash', 'cat <<E', ''],
  ['bash', 'cat <<E\ntext', ''],
];

describe('Enter', () => {
  it.each(runs.flatMap(([language, texts]) => texts.map((text) => [language, text] as const)))(
    'runs %s: %j',
    (language, text) => {
      expect(continuationOf(text, language)).toEqual({ kind: 'run' });
    },
  );

  it.each(goesOn)('goes on in %s: %j', (language, text, indent) => {
    expect(continuationOf(text, language)).toEqual({ kind: 'more', indent });
  });

  it('answers at once for any text', () => {
    const begin = threadMs();
    for (const piece of ['(', '"""', "'", '#', '\\', 'if x: ', '<<E\n', '`', '/*']) {
      for (const language of ['python', 'javascript', 'bash']) continuationOf(piece.repeat(20_000), language);
    }
    expect(threadMs() - begin).toBeLessThan(3_000);
  });
});
