import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Notebook } from '../../src/index.ts';
import { packageRoot } from '../../src/lib/package-root.ts';

/** A notebook as Jupyter saved it before cells had ids. Each cell is its source, or what else it is to be. */
export function notebookOf(cells: readonly (string | Record<string, unknown>)[], metadata: object = {}): object {
  return {
    nbformat: 4,
    nbformat_minor: 4,
    metadata,
    cells: cells.map((cell) => ({
      cell_type: 'code',
      metadata: {},
      execution_count: null,
      outputs: [],
      ...(typeof cell === 'string' ? { source: cell } : cell),
    })),
  };
}

/** Nbformat's own judgement of a notebook; rejects with what it finds wrong. */
export async function validateNotebook(python: string, notebook: Notebook): Promise<void> {
  const program = `
import json, sys, nbformat
text = sys.stdin.read()
notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
nbformat.validate(notebook, relax_add_props=False)
assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
assert nbformat.reads(nbformat.writes(notebook), as_version=4) == notebook
`;
  const ran = promisify(execFile)(python, ['-W', 'error', '-c', program], { cwd: packageRoot() });
  ran.child.stdin!.on('error', () => {}).end(JSON.stringify(notebook));
  await ran;
}
