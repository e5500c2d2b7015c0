import { asRecord, kernelMetadata, languageOf } from './language.ts';
import { createMimeBundles, type ToMimeBundle } from './mime-bundle.ts';
import { type CodeCell, linesOf, type Notebook, type NotebookCell, type TextCell, tagsOf } from './nbformat.ts';
import { outputsOf, stream } from './outputs.ts';
import type { ExecutionRecord, RecordedExecution } from './record.ts';

/** A session's executions as a notebook. Dropped parts are named in it, and counted in its metadata. */
export function notebookOfRecord(record: ExecutionRecord): Notebook {
  const executions = record.executions();
  const toBundle = createMimeBundles();
  const language = mostUsed(executions.map((execution) => execution.language)) ?? 'python';
  const omitted = {
    executionsOmitted: record.forgotten(),
    outputsOmitted: executions.filter(({ shown }) => shown === undefined).length,
  };
  const cells = executions.map(
    (execution): CodeCell => ({
      cell_type: 'code',
      id: execution.id,
      metadata: execution.language === language ? {} : { hotcell: { language: execution.language } },
      source: linesOf(execution.source),
      ...ranParts(execution, toBundle),
    }),
  );
  return {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { ...kernelMetadata(language), hotcell: omitted },
    cells: [...forgottenNote(omitted.executionsOmitted), ...cells],
  };
}

/**
 * A notebook after its run: `ran` has the result of each code cell by index. Other cells, and cells that were not
 * reached, have no outputs.
 */
export function executedNotebook(notebook: Notebook, ran: ReadonlyMap<number, RecordedExecution>): Notebook {
  const toBundle = createMimeBundles();
  return {
    ...notebook,
    metadata: notebookMetadata(notebook),
    cells: notebook.cells.map((cell, index): NotebookCell => {
      const metadata = cellMetadata(cell);
      const execution = ran.get(index);
      if (cell.cell_type !== 'code' || execution === undefined) return { ...cell, metadata };
      return { ...cell, metadata, ...ranParts(execution, toBundle) };
    }),
  };
}

/** The text of an .ipynb file, formatted as Jupyter does. */
export function notebookText(notebook: Notebook): string {
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

function ranParts(execution: RecordedExecution, toBundle: ToMimeBundle): Pick<CodeCell, 'execution_count' | 'outputs'> {
  const outputs =
    execution.shown === undefined
      ? stream('stderr', 'hotcell: outputs left out: the record of the session is full\n')
      : outputsOf(execution.shown, execution.number, toBundle);
  return { execution_count: execution.number, outputs };
}

function forgottenNote(count: number): TextCell[] {
  if (count === 0) return [];
  const source = [`The first ${count} executions of this session are left out: its record is full.`];
  return [{ cell_type: 'markdown', id: 'hotcell-omitted', metadata: {}, source }];
}

function mostUsed(names: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** Jupyter refuses a file with incomplete kernel metadata, so it is written completely. */
function notebookMetadata({ metadata }: Notebook): Record<string, unknown> {
  const kernel = asRecord(metadata.kernelspec);
  const info = asRecord(metadata.language_info);
  const isWhole =
    typeof kernel.name === 'string' && typeof kernel.display_name === 'string' && typeof info.name === 'string';
  return isWhole ? { ...metadata } : { ...metadata, ...kernelMetadata(languageOf({ metadata })) };
}

function cellMetadata(cell: NotebookCell): Record<string, unknown> {
  const { tags, ...rest } = cell.metadata;
  if (tags === undefined) return rest;
  return { ...rest, tags: [...new Set(tagsOf(cell))].filter((tag) => /^[^,]+$/.test(tag)) };
}
