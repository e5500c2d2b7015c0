import type { ContentBlock } from '@modelcontextprotocol/server';
import { type ExecutionResult, inOrder } from '../../execution/result.ts';
import { clipAcross } from '../../lib/clip-across.ts';
import { droppedFrom } from './dropped.ts';
import type { Shown } from './pictures.ts';

/** A text of the program with its label, or an image. */
export type Piece = string | ContentBlock;

/** Above this number of labelled texts, those between two images become one. */
const MOST_TEXTS = 12;

/**
 * The output of a result as a reader saw it come: texts and images in their order. Displayed text counts as output.
 * Each stream is cut to its budget, `chars` for stdout and half of it for stderr.
 */
export function printedPieces(
  result: Pick<ExecutionResult, 'order' | 'stdout' | 'stderr' | 'displays' | 'truncation'>,
  shown: Shown,
  chars: number,
): Piece[] {
  const parts = inOrder(result);
  const printed = { stdout: clipped('stdout', chars), stderr: clipped('stderr', chars / 2) };
  const found: (Labelled | ContentBlock)[] = [];
  for (const part of parts) {
    if (part.kind === 'display') addDisplay(found, shown.each[part.index]);
    else addText(found, part.kind === 'stdout' ? 'output' : 'stderr', printed[part.kind].next().value ?? '');
  }
  for (const note of shown.more) addText(found, 'output', `${note}\n`, true);
  const isMany = found.filter(isLabelled).length > MOST_TEXTS;
  return (isMany ? unlabelled(found) : found).flatMap(pieceOf);

  function clipped(name: 'stdout' | 'stderr', most: number): Iterator<string, undefined> {
    const texts = parts.flatMap((part) => (part.kind === name ? [part.text] : []));
    return clipAcross(texts, most, droppedFrom(name, result.truncation)).values();
  }
}

interface Labelled {
  readonly label: string;
  text: string;
}

function pieceOf(piece: Labelled | ContentBlock): Piece[] {
  if (!isLabelled(piece)) return [piece];
  return piece.text.trim() === '' ? [] : [`${piece.label}:\n${piece.text.trimEnd()}`];
}

function isLabelled(piece: Labelled | ContentBlock): piece is Labelled {
  return 'label' in piece;
}

function addDisplay(found: (Labelled | ContentBlock)[], display: ContentBlock | string | undefined): void {
  if (typeof display === 'object') found.push(display);
  else if (display !== undefined) addText(found, 'output', display.endsWith('\n') ? display : `${display}\n`, true);
}

/** `onOwnLine`: the text is a display, which begins on a new line. */
function addText(found: (Labelled | ContentBlock)[], label: string, text: string, onOwnLine = false): void {
  if (text === '') return;
  const last = found.at(-1);
  if (last === undefined || !isLabelled(last) || last.label !== label) found.push({ label, text });
  else last.text += onOwnLine && !last.text.endsWith('\n') ? `\n${text}` : text;
}

/** Texts between images joined: a program that writes to both streams in turn would otherwise make a block per line. */
function unlabelled(pieces: readonly (Labelled | ContentBlock)[]): (Labelled | ContentBlock)[] {
  const found: (Labelled | ContentBlock)[] = [];
  for (const piece of pieces) {
    if (isLabelled(piece)) addText(found, 'output and stderr', piece.text, true);
    else found.push(piece);
  }
  return found;
}
