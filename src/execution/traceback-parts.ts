import type { Outcome } from '../sandbox/outcome.ts';

type Shown = Pick<Extract<Outcome, { kind: 'raised' }>, 'name' | 'message' | 'traceback'>;

/** A traceback around the whole message of its exception. Joined, they are the text. */
export interface TracebackParts {
  /** Up to the name of the exception and the colon. */
  readonly before: string;
  /** The message. Empty if `before` has it already. */
  readonly message: string;
  /** Notes of the exception, or frames. */
  readonly after: string;
}

/**
 * The traceback of an exception with its message in full. The guest shortens a long message in the traceback, which has
 * to fit into the head of a frame; the outcome has up to 64 KB of it. A message that cannot be found in the traceback
 * follows it.
 */
export function tracebackParts({ name, message, traceback }: Shown): TracebackParts {
  const found = message === '' ? undefined : findMessage(traceback, name, message.split('\n'));
  if (found === undefined) {
    const text = traceback.join('\n');
    const isLost = message.length > LONGEST_UNCUT && !text.includes(message);
    return { before: isLost ? `${text}\n\nThe whole message:\n` : text, message: isLost ? message : '', after: '' };
  }
  const { start, end, prefix } = found;
  return {
    before: [...traceback.slice(0, start), prefix].join('\n'),
    message,
    after: ['', ...traceback.slice(end)].join('\n'),
  };
}

export function tracebackText(outcome: Shown): string {
  const { before, message, after } = tracebackParts(outcome);
  return `${before}${message}${after}`;
}

/** The guest never shortens a message of this length, even if it consists of control characters. */
const LONGEST_UNCUT = 300;
/** SECURITY: lines that are tried. A guest could send lines that all look like the beginning of the message. */
const MOST_TRIED = 50;

interface Found {
  readonly start: number;
  readonly end: number;
  /** The name of the exception and the colon, before the message on its first line. */
  readonly prefix: string;
}

/** The lines that have the message, whole or shortened. The last ones: earlier exceptions of a chain stand before. */
function findMessage(traceback: readonly string[], name: string, message: readonly string[]): Found | undefined {
  let tried = 0;
  for (let start = traceback.length - 1; start >= 0 && tried < MOST_TRIED; start -= 1) {
    const line = traceback[start]!;
    const prefix = line.slice(0, line.indexOf(': ') + 2);
    if (!prefix.includes(name) || !isShownAs(line.slice(prefix.length), message[0]!)) continue;
    tried += 1;
    const end = endOf(traceback, start, message);
    if (end !== undefined) return { start, end, prefix };
  }
  return undefined;
}

/** The end of the lines that have the message from `start` on; undefined if they end without a sign that it was cut. */
function endOf(traceback: readonly string[], start: number, message: readonly string[]): number | undefined {
  let at = start + 1;
  for (let line = 1; line < message.length && at < traceback.length; at += 1) {
    if (isShownAs(traceback[at]!, message[line]!)) line += 1;
    else {
      const leftOut = Number(LEFT_OUT.exec(traceback[at]!)?.[1] ?? 0);
      if (leftOut === 0) return traceback[at - 1]!.endsWith(CUT) ? at : undefined;
      line += leftOut;
      if (line >= message.length) return at;
    }
  }
  return at;
}

/** The line that stands for the middle of a long traceback. */
const LEFT_OUT = /^ {2}… (\d{1,6}) lines left out …$/;
const CUT = '…';

/** Whether a line of the traceback is this line of the message, or its beginning with the sign of a cut. */
function isShownAs(shown: string, line: string): boolean {
  return shown === line || (shown.endsWith(CUT) && line.startsWith(shown.slice(0, -CUT.length)));
}
