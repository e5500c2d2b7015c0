import { expect, it } from 'vitest';
import type { WatchLine } from '../../http/watch-lines.ts';
import { createOutput } from '../output.ts';
import { createWatchedRuns } from './watched-runs.ts';

/** The screen after these lines of one execution. */
async function shownFor(...received: Partial<WatchLine>[]): Promise<string[]> {
  let written = '';
  const stream = {
    isTTY: true,
    write: (text: string) => {
      written += text;
      return true;
    },
    once: () => {},
    off: () => {},
  };
  const watched = createWatchedRuns(createOutput(stream as never));
  for (const line of received) {
    await watched.show({ execution_id: 'x-1', ...line } as WatchLine, (write) => write());
  }
  return written
    .replaceAll(/\x1b\[\d*m/g, '')
    .trimEnd()
    .split('\n');
}

const asked = (code: string, language = 'python') => ({ asked: { code, language } }) as Partial<WatchLine>;

it('puts every line of code, output and traceback behind a mark', async () => {
  const outcome = { kind: 'raised', name: 'ValueError', message: 'm', traceback: ['Traceback', 'ValueError: m'] };
  expect(
    await shownFor(asked('print(1)\n1 / 0\n'), { stdout: '1\n' }, { ended: { outcome } } as Partial<WatchLine>),
  ).toEqual(['┌ python', '│ print(1)', '│ 1 / 0', '├', '│ 1', '│ Traceback', '│ ValueError: m', '└ ValueError']);
});

it('ends a line of code at a carriage return, and shows other controls of it', async () => {
  expect(await shownFor(asked('rmtree("/data") #\r\b\bprint("harmless")'))).toEqual([
    '┌ python',
    '│ rmtree("/data") #',
    '│ \\u0008\\u0008print("harmless")',
    '├',
  ]);
});

it.each([
  ['a carriage return', 'secret\rhotcell: forged', '│ hotcell: forged'],
  ['backspaces', 'x\b\b\b\b\bhotcell: forged', '│ hotcell: forged'],
  ['a cursor that moves up and down', 'x\r\x1b[9A\x1b[Bhotcell: forged', '│ hotcell: forged'],
])('shows what a terminal would leave of output with %s, and keeps the mark', async (_what, text, expected) => {
  const outcome = { kind: 'raised', name: 'E', message: 'm', traceback: [text] };
  const seen = await shownFor(asked('1'), { stdout: `${text}\n` }, { ended: { outcome } } as Partial<WatchLine>);
  expect(seen.slice(3).join(',')).toBe(`${expected},${expected},└ E`);
});

it('shows the name of a language in one line', async () => {
  expect((await shownFor(asked('1', 'x\r\nhotcell: forged')))[0]).toBe('┌ x hotcell: forged');
});
