/** Progress events of a set-up step. The receiver decides how to show them: a terminal, plain lines, JSON. */
export type StepEvent =
  | { kind: 'started'; name: string }
  | { kind: 'progress'; name: string; detail: string }
  | { kind: 'finished'; name: string; durationMs: number; note?: string }
  | { kind: 'failed'; name: string; durationMs: number; reason: string; command?: string }
  | { kind: 'note'; text: string };

export type Report = (event: StepEvent) => void;

/** Reports what the step is doing right now; only a terminal shows it. */
export type Progress = (detail: string) => void;

/** The context of long work: a progress callback, and the signal that cancels it. */
export interface Work {
  readonly progress: Progress;
  readonly signal?: AbortSignal | undefined;
}

/** A step failed for a reason that a person can act on; `command` fixes it, if there is one. */
export class StepError extends Error {
  override readonly name = 'StepError';
  readonly command: string | undefined;

  constructor(message: string, options: { command?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.command = options.command;
  }
}

/** Runs one step and reports its start, end and duration. Rethrows errors of `work`. */
export async function runStep<T>(
  report: Report,
  name: string,
  work: (progress: Progress) => Promise<T>,
  options: { note?: (result: T) => string | undefined; now?: () => number } = {},
): Promise<T> {
  const now = options.now ?? (() => performance.now());
  const begin = now();
  report({ kind: 'started', name });
  try {
    const result = await work((detail) => report({ kind: 'progress', name, detail }));
    const note = options.note?.(result);
    report({ kind: 'finished', name, durationMs: now() - begin, ...(note ? { note } : {}) });
    return result;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const command = error instanceof StepError ? error.command : undefined;
    report({ kind: 'failed', name, durationMs: now() - begin, reason, ...(command ? { command } : {}) });
    throw error;
  }
}

export interface TerminalStream {
  isTTY?: boolean;
  columns?: number;
  /** Node's own check, which honours NO_COLOR and TERM. */
  hasColors?(): boolean;
  write(text: string): unknown;
}

/** Shows steps on a terminal with a spinner, or as plain lines on other streams. */
export function terminalReport(stream: TerminalStream = process.stderr): Report {
  const paint = painter(Boolean(stream.isTTY && stream.hasColors?.()));
  const spinner = stream.isTTY ? startableSpinner(stream) : undefined;
  return (event) => {
    if (event.kind === 'progress') {
      spinner?.show(`${event.name}: ${event.detail}`);
      return;
    }
    if (event.kind === 'started') {
      if (spinner) spinner.show(event.name);
      else stream.write(`- ${event.name} …\n`);
      return;
    }
    spinner?.stop();
    for (const line of stepLines(event, paint)) stream.write(`${line}\n`);
  };
}

type Paint = (colour: 'green' | 'red' | 'dim' | 'bold', text: string) => string;

/** The lines that remain on the screen for an event, coloured by `paint`. */
export function stepLines(event: StepEvent, paint: Paint = (_, text) => text): string[] {
  switch (event.kind) {
    case 'finished': {
      const time = paint('dim', `(${formatDuration(event.durationMs)})`);
      return [`${paint('green', '✓')} ${event.name}${event.note ? `: ${event.note}` : ''} ${time}`];
    }
    case 'failed': {
      const time = paint('dim', `(${formatDuration(event.durationMs)})`);
      const lines = [`${paint('red', '✗')} ${event.name} ${time}`, ...indent(event.reason)];
      return event.command ? [...lines, '  Run:', ...indent(event.command, 4).map((l) => paint('bold', l))] : lines;
    }
    case 'note':
      return indent(event.text);
    default:
      return [];
  }
}

/** `0.4 s`, `12.3 s`, `2 min 5 s`. */
export function formatDuration(durationMs: number): string {
  const seconds = durationMs / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function indent(text: string, width = 2): string[] {
  return text.split('\n').map((line) => ' '.repeat(width) + line);
}

function painter(enabled: boolean): Paint {
  if (!enabled) return (_, text) => text;
  const codes = { green: 32, red: 31, dim: 2, bold: 1 };
  return (colour, text) => `\x1b[${codes[colour]}m${text}\x1b[0m`;
}

function startableSpinner(stream: TerminalStream) {
  const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
  let timer: NodeJS.Timeout | undefined;
  let text = '';
  let frame = 0;
  const draw = () => {
    const line = `${frames[frame++ % frames.length]} ${text}`.slice(0, (stream.columns ?? 80) - 1);
    stream.write(`\r\x1b[2K${line}`);
  };
  return {
    show(next: string) {
      text = next;
      if (timer) return;
      draw();
      // Unreferenced, so that a spinner does not keep a finished program alive.
      timer = setInterval(draw, 100).unref();
    },
    stop() {
      if (!timer) return;
      clearInterval(timer);
      timer = undefined;
      stream.write('\r\x1b[2K');
    },
  };
}
