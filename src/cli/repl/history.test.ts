import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openHistory } from './history.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hc-history-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the history', () => {
  it('survives a session, line ends included, for each language on its own', async () => {
    const history = await openHistory(folder, 'python');
    await history.add('x = 1');
    await history.add('def f():\n    return "ü"');
    expect((await openHistory(folder, 'python')).entries()).toEqual(['x = 1', 'def f():\n    return "ü"']);
    expect((await openHistory(folder, 'bash')).entries()).toEqual([]);
  });

  it('cannot be read by other users', async () => {
    await (await openHistory(folder, 'python')).add('x = 1');
    expect(statSync(join(folder, 'history')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'history', 'python.jsonl')).mode & 0o777).toBe(0o600);
  });

  it('leaves out entries that begin with a space, empty entries and repetitions', async () => {
    const history = await openHistory(folder, 'python');
    for (const entry of ['x', ' token = "secret"', '', 'x', 'y']) await history.add(entry);
    expect(history.entries()).toEqual(['x', 'y']);
    expect(readFileSync(join(folder, 'history', 'python.jsonl'), 'utf8')).toBe('"x"\n"y"\n');
  });

  it('is bounded, in memory and on disk', async () => {
    const history = await openHistory(folder, 'python');
    await history.add('first');
    const lines = Array.from({ length: 3_000 }, (_, number) => `"${number}"\n`).join('');
    writeFileSync(join(folder, 'history', 'python.jsonl'), lines);
    const again = await openHistory(folder, 'python');
    expect(again.entries().length).toBe(1_000);
    expect(again.entries().at(-1)).toBe('2999');
    expect(readFileSync(join(folder, 'history', 'python.jsonl'), 'utf8').split('\n').length).toBe(501);
    await again.add('x'.repeat(100_000));
    expect(again.entries().at(-1)).toBe('2999');
  });

  it('tolerates a half-written file', async () => {
    await (await openHistory(folder, 'python')).add('x');
    writeFileSync(join(folder, 'history', 'python.jsonl'), '"x"\n{"no": 1}\n"half');
    expect((await openHistory(folder, 'python')).entries()).toEqual(['x']);
  });

  it('works without a file if none can be created', async () => {
    writeFileSync(join(folder, 'history'), 'a file in its place');
    const history = await openHistory(folder, 'python');
    await history.add('x');
    expect({ entries: history.entries(), failure: history.failure }).toEqual({ entries: ['x'], failure: 'EEXIST' });
  });

  it('writes through no link and does not take a language name for a path', async () => {
    await (await openHistory(folder, 'python')).add('x');
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'history', 'bash.jsonl'));
    await (await openHistory(folder, 'bash')).add('secret');
    await (await openHistory(folder, '../../up')).add('y');
    expect(() => readFileSync(join(folder, 'elsewhere'))).toThrow();
    expect(readFileSync(join(folder, 'history', '______up.jsonl'), 'utf8')).toBe('"y"\n');
  });
});
