import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Hotcell, Session } from '../../src/index.ts';
import { notebookOf, validateNotebook } from '../support/notebooks.ts';
import { toolsPython } from '../support/python-tools.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

const reason = await reasonToSkip(TARGETS.shared);
const python = await toolsPython();

describe.skipIf(reason !== undefined || python === undefined)('notebooks as Jupyter judges them', () => {
  let hotcell: Hotcell;
  let session: Session;
  beforeAll(async () => {
    hotcell = await openTarget(TARGETS.shared, { recordBytes: 2 * 1_048_576 });
    session = await hotcell.open();
  });
  afterAll(async () => hotcell?.close());

  test('a session with every kind of output is a valid notebook', async () => {
    await session.run('print("ü", end="")\n"a\\nb"');
    await session.run(`
class Hostile:
    def __init__(self, bundle): self.bundle = bundle
    def _repr_mimebundle_(self, include=None, exclude=None): return self.bundle
    def __repr__(self): return 'hostile \\ud800 \\x1b]0;t\\x07'
Hostile({'text/html': '<b>', 'application/json': {'a': [1]}, '../../etc': 'x', 'no type': 'y', 'image/png': b'123', 'text/x y': 'z'})
`);
    await session.run('raise ValueError("\\x1b[31mred\\ud800")');
    await session.run('import sys; sys.exit(3)');
    await session.run('while True: pass', { timeoutMs: 300 });
    await session.run('import os; os.abort()');
    await session.run('import sys; sys.stdout.buffer.write(bytes(range(256)))');
    await session.run('print("x" * 500_000)');
    await validateNotebook(python!, await session.exportNotebook());
  });

  test('so is one whose record had to let things go', async () => {
    const other = await hotcell.open();
    for (let number = 0; number < 40; number += 1) await other.run(`print("x" * 100_000) # ${number}`);
    await Promise.all(Array.from({ length: 1_000 }, () => other.run('#')));
    const notebook = await other.exportNotebook();
    expect(notebook.metadata.hotcell).toMatchObject({ executionsOmitted: expect.any(Number) });
    expect(JSON.stringify(notebook).length).toBeLessThan(4 * 1_048_576);
    expect(JSON.stringify(notebook)).toMatch(/left out/);
    await validateNotebook(python!, notebook);
  });

  test('so is one that was run, whatever its metadata were', async () => {
    const odd = { tags: ['a', 'a', 'b,c', 7, 'raises-exception'], anything: { at: ['all'] } };
    const given = notebookOf(
      [
        { source: ['1 / 0\n', '2'], metadata: odd, id: 'not valid!' },
        { cell_type: 'raw', source: 'raw', outputs: undefined, execution_count: undefined },
        { cell_type: 'markdown', source: '![x](attachment:x.png)', attachments: { 'x.png': { 'image/png': 'AAAA' } } },
        { source: 'import matplotlib.pyplot as plt; plt.plot([1, 2])', unknown: 1 },
      ],
      { kernelspec: { name: 'python3' }, title: 'ü' },
    );
    const { notebook, ok } = await session.runNotebook(given, { name: 'odd.ipynb' });
    expect(ok).toBe(true);
    await validateNotebook(python!, notebook);
  });

  test('so is one that was stopped', async () => {
    const abort = new AbortController();
    const run = session.runNotebook(notebookOf(['1', 'print("begun")\nwhile True: pass', '2']), {
      signal: abort.signal,
      keepGoing: true,
      onCell: async ({ number }, execution) => {
        for await (const event of execution) if (number === 2 && event.kind === 'stdout') abort.abort();
      },
    });
    const { notebook, cells, cellsNotRun } = await run;
    expect({ kinds: cells.map(({ outcome }) => outcome.kind), cellsNotRun }).toEqual({
      kinds: ['ok', 'interrupted'],
      cellsNotRun: 1,
    });
    await validateNotebook(python!, notebook);
  });
});

describe.skipIf(reason !== undefined)('a notebook that runs', () => {
  test('goes on without a reader that has had enough, and waits for one that is behind', async () => {
    await using hotcell = await openTarget(TARGETS.shared);
    const session = await hotcell.open();
    const given = notebookOf(Array.from({ length: 20 }, (_, number) => `x = ${number}`));
    const left = session.runNotebook(given);
    for await (const _ of left) break;
    expect((await left).cells.length).toBe(20);
    const behind = session.runNotebook(given);
    const reader = behind[Symbol.asyncIterator]();
    await reader.next();
    const lastCell = async () => Number((await session.run('x')).value?.text);
    await expect.poll(lastCell).toSatisfy((x: number) => x >= 4 && x < 10);
    // Each of these would let a notebook that does not wait go on by a cell.
    for (let turn = 0; turn < 10; turn += 1) expect(await lastCell()).toBeLessThan(7);
    for (let cell = await reader.next(); cell.done !== true; ) cell = await reader.next();
    expect((await behind).ok).toBe(true);
  });

  test('rejects what is no notebook, to whoever awaits it and to whoever iterates', async () => {
    await using hotcell = await openTarget(TARGETS.shared);
    const session = await hotcell.open();
    const wrong = { code: 'invalid_argument', remedy: expect.any(String) };
    await expect(Promise.resolve(session.runNotebook({ nbformat: 3 }))).rejects.toMatchObject(wrong);
    const run = session.runNotebook('{');
    await expect(run[Symbol.asyncIterator]().next()).rejects.toMatchObject(wrong);
    const tooLarge = session.runNotebook(notebookOf(['#'.repeat(2_000_000)]));
    await expect(Promise.resolve(tooLarge)).rejects.toMatchObject({ code: 'code_too_large' });
  });
});
