import { expect, test } from 'vitest';
import { consoleLine } from './console-line.ts';

test('a line has the time, the level, the message and the fields', () => {
  const json =
    '{"level":"warn","time":"2026-01-31T12:00:00.000Z","tool":"run_code","durationMs":12,"why":"two words","msg":"slow"}\n';
  expect(consoleLine(json)).toBe('2026-01-31T12:00:00.000Z WARN  slow tool=run_code durationMs=12 why="two words"\n');
});

test('a message with a line break stays one line', () => {
  const json = JSON.stringify({ level: 'info', time: 't', msg: 'a\nb', field: 'c\nd' });
  expect(consoleLine(json).trimEnd()).not.toContain('\n');
});
