import { describe, expect, it } from 'vitest';
import type { ExecutionResult } from '../execution/result.ts';
import { createRecord } from './record.ts';
import { notebookOfRecord } from './write.ts';

let count = 0;
function result(parts: Partial<ExecutionResult> = {}): ExecutionResult {
  count += 1;
  return {
    executionId: `x-${count}`,
    language: 'python',
    outcome: { kind: 'ok' },
    stdout: '',
    stderr: '',
    displays: [],
    ...parts,
  } as ExecutionResult;
}

const picture = (sizeBytes: number) => ({
  representations: [{ mediaType: 'image/png', data: Buffer.alloc(sizeBytes) }],
});

describe('the record of a session', () => {
  it('drops the oldest outputs first, and says so in the notebook', () => {
    const record = createRecord(100_000);
    record.add('first', result({ stdout: 'x'.repeat(20_000) }));
    record.add('second', result({ stdout: 'y'.repeat(20_000) }));
    record.add('third', result({ stdout: 'z'.repeat(20_000) }));
    const { cells, metadata } = notebookOfRecord(record);
    expect(record.heldBytes()).toBeLessThanOrEqual(100_000);
    expect(metadata.hotcell).toEqual({ executionsOmitted: 0, outputsOmitted: 1 });
    expect(cells.map(({ source }) => source.join(''))).toEqual(['first', 'second', 'third']);
    expect(JSON.stringify(cells[0])).toMatch(/outputs left out/);
    expect(JSON.stringify(cells[2])).toMatch(/zzz/);
  });

  it('then drops whole executions', () => {
    const record = createRecord(20_000);
    for (let number = 1; number <= 1000; number += 1) record.add(`x = ${number}`, result());
    const { cells, metadata } = notebookOfRecord(record);
    expect(record.heldBytes()).toBeLessThanOrEqual(20_000);
    expect(metadata.hotcell).toEqual({ executionsOmitted: 1000 - record.executions().length, outputsOmitted: 0 });
    expect(cells[0]).toMatchObject({ cell_type: 'markdown', source: [expect.stringMatching(/left out/)] });
    expect(cells.at(-1)).toMatchObject({ source: ['x = 1000'], execution_count: 1000 });
  });

  it('keeps only the text of an execution that would displace all others', () => {
    const record = createRecord(100_000);
    record.add('first', result({ stdout: 'kept' }));
    record.add('huge', result({ stdout: 'text', displays: [picture(90_000), picture(90_000)] }));
    const text = JSON.stringify(notebookOfRecord(record).cells);
    expect(text).toMatch(/kept.*text.*2 displays were left out, because they were too large/);
  });

  it('keeps nothing with a limit of 0', () => {
    const record = createRecord(0);
    record.add('x', result({ stdout: 'x' }));
    expect([record.heldBytes(), record.executions().length, record.forgotten()]).toEqual([0, 0, 1]);
  });
});

describe('the notebook of a session', () => {
  it('has every kind of output', () => {
    const record = createRecord(1_000_000);
    const html = { mediaType: 'text/html', data: Buffer.from('<b>ü</b>') };
    const json = { mediaType: 'application/vnd.vega.v5+json', data: Buffer.from('{"a": [1]}') };
    const deep = { mediaType: 'application/x+json', data: Buffer.from(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) };
    const broken = { mediaType: 'application/json', data: Buffer.from('{') };
    const hostile = { mediaType: '../../x', data: Buffer.from('x') };
    record.add(
      'x\ny',
      result({
        stdout: 'out\nmore',
        stderr: 'err',
        displays: [
          picture(3),
          { representations: [html, json, deep, broken, hostile] },
          { representations: [hostile] },
        ],
        value: { text: '42', truncated: false, representations: [html] },
        outcome: { kind: 'raised', name: 'ValueError', message: 'no', traceback: ['Traceback', 'ValueError: no'] },
      }),
    );
    expect(notebookOfRecord(record).cells[0]).toMatchObject({
      source: ['x\n', 'y'],
      execution_count: 1,
      outputs: [
        { output_type: 'stream', name: 'stdout', text: ['out\n', 'more'] },
        { output_type: 'stream', name: 'stderr', text: ['err'] },
        { output_type: 'display_data', data: { 'image/png': 'AAAA' } },
        { output_type: 'display_data', data: { 'text/html': '<b>ü</b>', 'application/vnd.vega.v5+json': { a: [1] } } },
        { output_type: 'execute_result', execution_count: 1, data: { 'text/plain': '42', 'text/html': '<b>ü</b>' } },
        { output_type: 'error', ename: 'ValueError', evalue: 'no', traceback: ['Traceback', 'ValueError: no'] },
      ],
    });
  });

  it('has the language of most cells, and marks cells of other languages', () => {
    const record = createRecord(1_000_000);
    for (const language of ['bash', 'python', 'python']) record.add('x', result({ language }));
    const { metadata, cells } = notebookOfRecord(record);
    expect(metadata.language_info).toEqual({ name: 'python' });
    expect(cells.map((cell) => cell.metadata)).toEqual([{ hotcell: { language: 'bash' } }, {}, {}]);
  });
});
