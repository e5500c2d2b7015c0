import { expect } from 'vitest';
import type { CodeCell, Notebook, NotebookOutput } from '../../../src/index.ts';
import { notebookOf } from '../../support/notebooks.ts';
import type { Requirement } from '../context.ts';

export const notebookRequirements: readonly Requirement[] = [
  {
    id: 'notebook:run',
    tag: 'guest',
    title: 'the code cells of a notebook run in order and in one namespace, told of one by one and all together',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const markdown = { cell_type: 'markdown', source: '1 / 0' };
      const run = session.runNotebook(notebookOf(['x = 6', markdown, '', 'print("seen")\nx * 7']));
      const seen: unknown[] = [];
      for await (const { index, number, result } of run) seen.push([index, number, result.value?.text]);
      expect(seen).toEqual([
        [0, 1, undefined],
        [3, 2, '42'],
      ]);
      const { ok, cellsNotRun, notebook } = await run;
      expect({ ok, cellsNotRun }).toEqual({ ok: true, cellsNotRun: 0 });
      expect(outputsOf(notebook)).toEqual([[], [], [stdout('seen\n'), value(2, '42')]]);
    },
  },
  {
    id: 'notebook:stops',
    tag: 'guest',
    title: 'a notebook stops at the first cell that fails, but where it may raise or is to keep going',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const tagged = { source: '1 / 0', metadata: { tags: ['raises-exception'] } };
      const cells = [tagged, 'y = 1', 'undefined_name', 'print(y)'];
      const stopped = await session.runNotebook(notebookOf(cells));
      expect(stopped.cells.map(({ failed }) => failed)).toEqual([false, false, true]);
      expect(stopped).toMatchObject({ ok: false, cellsNotRun: 1 });
      const whole = await session.runNotebook(notebookOf(cells), { keepGoing: true });
      expect(whole.cells.map(({ failed }) => failed)).toEqual([false, false, true, false]);
      expect(outputsOf(whole.notebook)).toMatchObject([
        [{ output_type: 'error', ename: 'ZeroDivisionError' }],
        [],
        [{ output_type: 'error', ename: 'NameError' }],
        [stdout('1\n')],
      ]);
    },
  },
  {
    id: 'notebook:ended',
    tag: 'guest',
    title: 'a cell that runs too long or kills its interpreter fails, and the notebook says how',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const endless = await session.runNotebook(notebookOf(['while True: pass', '1']), { timeoutMs: 500 });
      expect(endless).toMatchObject({ ok: false, cellsNotRun: 1, cells: [{ outcome: { kind: 'timed-out' } }] });
      const died = await session.runNotebook(notebookOf(['import os; os.abort()', 'print("new")']), {
        keepGoing: true,
      });
      expect(died.cells.map(({ state }) => state)).toEqual(['lost', 'kept']);
      expect(outputsOf(died.notebook)[0]).toMatchObject([{ output_type: 'error', ename: 'KernelDied' }]);
    },
  },
  {
    id: 'notebook:export',
    tag: 'guest',
    title:
      'a session is written out with what it printed, showed, gave and raised, and running that again gives the same',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('import sys\nprint("out")\nprint("err", file=sys.stderr)');
      await session.run(
        'class Shown:\n    def _repr_html_(self): return "<b>ü</b>"\n    def __repr__(self): return "shown"',
      );
      await session.run('Shown()');
      await session.run('1 / 0');
      const exported = await session.exportNotebook();
      expect(outputsOf(exported)).toMatchObject([
        [stdout('out\n'), { output_type: 'stream', name: 'stderr', text: ['err\n'] }],
        [],
        [{ output_type: 'execute_result', data: { 'text/plain': 'shown', 'text/html': '<b>ü</b>' } }],
        [{ output_type: 'error', ename: 'ZeroDivisionError', evalue: 'division by zero' }],
      ]);
      const other = await fresh();
      const again = await other.runNotebook(JSON.stringify(exported));
      expect(withoutTracebacks(again.notebook)).toEqual(withoutTracebacks(exported));
    },
  },
];

function outputsOf({ cells }: Notebook): (readonly NotebookOutput[])[] {
  return cells.flatMap((cell) => (cell.cell_type === 'code' ? [cell.outputs] : []));
}

/** They name the cell, or the execution, that they come from. */
function withoutTracebacks({ cells }: Notebook) {
  return (cells as CodeCell[]).map(({ source, execution_count: number, outputs }) => ({
    source,
    number,
    outputs: outputs.map((output) => ({ ...output, traceback: undefined })),
  }));
}

function stdout(text: string): NotebookOutput {
  return { output_type: 'stream', name: 'stdout', text: [text] };
}

function value(number: number, text: string): NotebookOutput {
  return { output_type: 'execute_result', execution_count: number, data: { 'text/plain': text }, metadata: {} };
}
