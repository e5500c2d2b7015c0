import { describe, expect, it } from 'vitest';
import { formatDuration, runStep, StepError, type StepEvent, stepLines, terminalReport } from './steps.ts';

function recorder() {
  const events: StepEvent[] = [];
  return { events, report: (event: StepEvent) => void events.push(event) };
}

function stream(isTTY: boolean, colours = isTTY) {
  const written: string[] = [];
  return { isTTY, columns: 80, hasColors: () => colours, written, write: (text: string) => void written.push(text) };
}

function clock(...times: number[]) {
  return () => times.shift() ?? 0;
}

describe('a step', () => {
  it('reports its start, its progress, and its end with the time it took', async () => {
    const { events, report } = recorder();
    const result = await runStep(
      report,
      'Python environment',
      async (progress) => {
        progress('pandas');
        return 7;
      },
      { now: clock(1000, 13_300), note: (n) => `${n} packages` },
    );
    expect(result).toBe(7);
    expect(events).toEqual([
      { kind: 'started', name: 'Python environment' },
      { kind: 'progress', name: 'Python environment', detail: 'pandas' },
      { kind: 'finished', name: 'Python environment', durationMs: 12_300, note: '7 packages' },
    ]);
  });

  it('that fails reports the reason and the command that fixes it, and rethrows', async () => {
    const { events, report } = recorder();
    const failure = new StepError('bubblewrap is not installed', { command: 'sudo apt-get install -y bubblewrap' });
    await expect(runStep(report, 'Sandbox', () => Promise.reject(failure), { now: clock(0, 100) })).rejects.toBe(
      failure,
    );
    expect(events.at(-1)).toEqual({
      kind: 'failed',
      name: 'Sandbox',
      durationMs: 100,
      reason: 'bubblewrap is not installed',
      command: 'sudo apt-get install -y bubblewrap',
    });
  });
});

describe('the lines', () => {
  it('carry name, note and time', () => {
    expect(stepLines({ kind: 'finished', name: 'Image', durationMs: 12_340, note: 'hotcell/python:1' })).toEqual([
      '✓ Image: hotcell/python:1 (12.3 s)',
    ]);
  });

  it('show the exact command on its own line', () => {
    const event: StepEvent = {
      kind: 'failed',
      name: 'Sandbox',
      durationMs: 0,
      reason: 'no bwrap',
      command: 'apt-get x',
    };
    expect(stepLines(event)).toEqual(['✗ Sandbox (0.0 s)', '  no bwrap', '  Run:', '    apt-get x']);
  });

  it('write long times in minutes', () => {
    expect(formatDuration(125_000)).toBe('2 min 5 s');
    expect(formatDuration(119_900)).toBe('2 min 0 s');
  });
});

describe('shown on a stream', () => {
  const finished: StepEvent = { kind: 'finished', name: 'Image', durationMs: 400 };

  it('that is no terminal, steps are plain lines without control characters', () => {
    const out = stream(false);
    const report = terminalReport(out);
    report({ kind: 'started', name: 'Image' });
    report({ kind: 'progress', name: 'Image', detail: 'pulling' });
    report(finished);
    expect(out.written).toEqual(['- Image …\n', '✓ Image (0.4 s)\n']);
  });

  it('that is a terminal, the spinner is erased before the line that stays', () => {
    const out = stream(true);
    const report = terminalReport(out);
    report({ kind: 'started', name: 'Image' });
    report(finished);
    expect(out.written[0]).toMatch(/^\r\x1b\[2K. Image$/u);
    expect(out.written.at(-1)).toBe('\x1b[32m✓\x1b[0m Image \x1b[2m(0.4 s)\x1b[0m\n');
  });

  it('that is a terminal without colours (NO_COLOR), nothing is coloured', () => {
    const out = stream(true, false);
    terminalReport(out)(finished);
    expect(out.written).toEqual(['✓ Image (0.4 s)\n']);
  });
});
