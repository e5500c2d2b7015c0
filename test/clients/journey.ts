import { expect } from 'vitest';
import type { ToolCall, ToolResult } from './model/dialect.ts';

/** One call of the journey that every client makes, and what its model must get to read. */
export interface Step {
  readonly name: string;
  readonly call: (before: readonly ToolResult[]) => ToolCall;
  readonly check: (result: ToolResult) => void;
}

const run = (code: string, more: Record<string, unknown> = {}): ToolCall => ({
  tool: 'run_code',
  arguments: { code, ...more },
});

const EXECUTION_ID = /\bx-[0-9a-z]+\b/;

/** What every client must hand its model. */
export const JOURNEY: readonly Step[] = [
  {
    name: 'a chart arrives as a picture',
    call: () => run('import matplotlib.pyplot as plt\nkept = 5\nplt.plot([1, 2, 3]); None'),
    check: ({ pictures }) => expect(pictures).toBe(1),
  },
  {
    name: 'a traceback arrives as plain text',
    call: () => run('def f(x):\n    return 1 / x\nf(0)'),
    check: ({ text }) => {
      expect(text).toMatch(/line 2, in f\n/);
      expect(text).toContain('ZeroDivisionError: division by zero');
      expectPlain(text);
    },
  },
  {
    name: 'a frame arrives as plain text',
    call: () => run('import pandas as pd\npd.DataFrame({"city": ["Rome", "Oslo"], "n": [10, 20]})'),
    check: ({ text }) => {
      expect(text).toMatch(/ +city +n\n0 +Rome +10\n1 +Oslo +20/);
      expectPlain(text);
    },
  },
  {
    name: 'an error arrives with its code and its remedy',
    call: () => ({ tool: 'read_file', arguments: { path: 'nowhere.txt' } }),
    check: ({ text }) => {
      expect(text).toContain('file_not_found');
      expect(text).toContain('→ ');
    },
  },
  {
    name: 'a run in the background names its execution',
    call: () => run('import time\ntime.sleep(1)\nprint("late", kept)', { background: true }),
    check: ({ text }) => expect(text).toMatch(EXECUTION_ID),
  },
  {
    name: 'its result can be polled',
    call: (before) => poll(before),
    check: ({ text }) => expect(text).toContain('late 5'),
  },
];

/** A run of 75 seconds: it ends while the client waits, or goes on in the background by itself and is polled. */
export const LONG_RUN: readonly Step[] = [
  {
    name: 'a run of 75 seconds is answered',
    call: () => run('import time\nfor second in range(75): time.sleep(1)\nprint("slept", second + 1)'),
    check: ({ text }) => expect(text.includes('slept 75') || EXECUTION_ID.test(text), text).toBe(true),
  },
  {
    name: 'and its result arrives',
    call: (before) => (before.at(-1)?.text.includes('slept 75') ? run('print("slept", second + 1)') : poll(before)),
    check: ({ text }) => expect(text).toContain('slept 75'),
  },
];

/** Checks what the model of a client got to read. */
export function expectJourney(steps: readonly Step[], results: readonly ToolResult[]): void {
  for (const [index, { name, check }] of steps.entries()) {
    const result = results[index] as ToolResult;
    expect(() => check(result), `${name}: ${result.text}`).not.toThrow();
  }
}

function poll(before: readonly ToolResult[]): ToolCall {
  const [execution_id] = EXECUTION_ID.exec(before.at(-1)?.text ?? '') ?? [];
  return { tool: 'get_execution', arguments: { execution_id, wait_ms: 40_000 } };
}

/** Fails for JSON in place of text, whose line ends are escaped. */
function expectPlain(text: string): void {
  expect(text).not.toContain('\\n');
  expect(text).not.toMatch(/^\s*[{[]/);
}
