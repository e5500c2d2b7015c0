import { HotcellError } from '../errors/hotcell-error.ts';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import { quotedName } from '../lib/said-inside.ts';
import { wholeCharacters } from '../lib/whole-characters.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { ToolCall } from './define-tool.ts';

/** Reads parts of a file, for clients that cannot take it whole. At most one part is in memory. */

export interface TextPiece {
  readonly text: string;
  readonly start_line?: number;
  readonly end_line?: number;
  readonly next_line?: number;
  readonly offset?: number;
  readonly next_offset?: number;
}

export interface BytePiece {
  readonly data: Buffer;
  readonly offset: number;
  readonly next_offset?: number;
}

type Files = Pick<SessionFiles, 'stream'>;

/** The call that reads, which has a place for files. */
export type ReadingCall = Pick<ToolCall, 'signal' | 'turn'>;

export async function readBytes(
  files: Files,
  path: string,
  { offset, length }: { offset: number; length: number },
  call: ReadingCall,
): Promise<BytePiece> {
  const gathered = createGatheredBytes();
  // One byte more than requested shows whether more follows.
  const pieces = files.stream(path, { offset, length: length + 1, signal: call.signal });
  for await (const piece of inTurns(pieces, call)) gathered.push(piece);
  const all = Buffer.concat(gathered.take());
  const data = all.subarray(0, length);
  return { data, offset, ...(all.length > length ? { next_offset: offset + length } : {}) };
}

/** Reads text by bytes, cut at character boundaries. */
export async function readTextBytes(
  files: Files,
  path: string,
  range: { offset: number; length: number },
  call: ReadingCall,
): Promise<TextPiece> {
  const { data, offset, next_offset } = await readBytes(files, path, range, call);
  const end = next_offset === undefined ? data.length : wholeCharacters(data);
  if (next_offset === undefined) return { text: textOf(path, data), offset };
  return { text: textOf(path, data.subarray(0, end)), offset, next_offset: offset + end };
}

/**
 * Reads text by lines: whole lines from `fromLine` on, as many as fit. A line that does not fit is returned in part;
 * the rest of it can be read by bytes. The lines before are read and discarded.
 */
export async function readTextLines(
  files: Files,
  path: string,
  { fromLine, lines, chars }: { fromLine: number; lines: number; chars: number },
  call: ReadingCall,
): Promise<TextPiece> {
  const wanted = createGatheredBytes();
  let line = 1;
  let startByte = 0;
  let seenBytes = 0;
  let isMore = false;
  const mostBytes = chars * 4;
  for await (const piece of inTurns(files.stream(path, { signal: call.signal }), call)) {
    const { lines: passed, end: from } = passLines(piece, fromLine - line);
    line += passed;
    if (line >= fromLine) {
      if (wanted.length() === 0) startByte = seenBytes + from;
      wanted.push(piece.subarray(from));
    }
    seenBytes += piece.length;
    if (wanted.length() > mostBytes) {
      isMore = true;
      break;
    }
  }
  if (line < fromLine && fromLine > 1) {
    throw new HotcellError(
      'invalid_argument',
      `${quotedName(path)}: start_line ${fromLine} is past its end; it has ${line} lines`,
      {
        remedy: 'Begin at a smaller start_line.',
      },
    );
  }
  return takeLines(path, Buffer.concat(wanted.take()), { fromLine, lines, chars, startByte, isMore });
}

const NEWLINE = 0x0a;

/**
 * SECURITY: a search for a line reads the whole file. It takes a turn of the owner for each piece, and ends when the
 * client has left; it would otherwise go on to the end of the file, without any limit of their number.
 */
async function* inTurns(pieces: AsyncIterable<Buffer>, { signal, turn }: ReadingCall): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    await turn(piece.length);
    yield piece;
  }
}

/**
 * Passes over at most `most` lines. `end` is where the last one ends. SECURITY: it reads byte by byte; a call of
 * `indexOf` for each of a million newlines takes 15 ms, this takes 2 ms for a megabyte of anything.
 */
function passLines(piece: Buffer, most: number): { lines: number; end: number } {
  let lines = 0;
  let end = 0;
  for (let at = 0; lines < most && at < piece.length; at += 1) {
    if (piece[at] !== NEWLINE) continue;
    lines += 1;
    end = at + 1;
  }
  return { lines, end };
}

interface Taking {
  readonly fromLine: number;
  readonly lines: number;
  readonly chars: number;
  readonly startByte: number;
  /** Whether the file continues after the buffer. */
  readonly isMore: boolean;
}

function takeLines(path: string, buffer: Buffer, { fromLine, lines, chars, startByte, isMore }: Taking): TextPiece {
  let end = 0;
  let taken = 0;
  while (taken < lines && end < buffer.length) {
    const newline = buffer.indexOf(NEWLINE, end);
    if (newline === -1 && isMore) break;
    const next = newline === -1 ? buffer.length : newline + 1;
    if (taken > 0 && next > chars) break;
    end = next;
    taken += 1;
    if (end >= chars) break;
  }
  if ((taken === 0 && buffer.length > 0) || end > chars * 2) {
    const cut = wholeCharacters(buffer.subarray(0, chars));
    return {
      text: textOf(path, buffer.subarray(0, cut)),
      offset: startByte,
      next_offset: startByte + cut,
      start_line: fromLine,
    };
  }
  const isEnd = end >= buffer.length && !isMore;
  return {
    text: textOf(path, buffer.subarray(0, end)),
    start_line: fromLine,
    end_line: fromLine + Math.max(taken, 1) - 1,
    ...(isEnd ? {} : { next_line: fromLine + taken }),
  };
}

function textOf(path: string, data: Buffer): string {
  const text = data.toString('utf8');
  if (!text.includes('\0')) return text;
  throw new HotcellError('invalid_argument', `${quotedName(path)}: not text`, {
    remedy: 'Read it with encoding base64, or look at it with run_code.',
  });
}
