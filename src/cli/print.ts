/** Text for people: colours, sizes, durations, names that came from a sandbox. */

import { type ColouredStream, type Environment, wantsColours } from './terminal.ts';

export type Colour = 'green' | 'red' | 'yellow' | 'dim' | 'bold';
export type Paint = (colour: Colour, text: string) => string;

const CODES: Readonly<Record<Colour, number>> = { green: 32, red: 31, yellow: 33, dim: 2, bold: 1 };

/** Colours for a stream that wants them; plain text for any other. */
export function painterFor(stream: ColouredStream, env?: Environment): Paint {
  if (!wantsColours(stream, env)) return (_, text) => text;
  return (colour, text) => `\x1b[${CODES[colour]}m${text}\x1b[0m`;
}

/** `12 ms`, `1.4 s`, `2 min 5 s` */
export function durationText(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  if (durationMs < 60_000) return `${trimmed(durationMs / 1000)} s`;
  const seconds = Math.round(durationMs / 1000);
  return `${Math.floor(seconds / 60)} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
}

/** `1 byte`, `3.2 KiB`, `512 MiB` */
export function sizeText(sizeBytes: number): string {
  if (sizeBytes < 1024) return sizeBytes === 1 ? '1 byte' : `${sizeBytes} bytes`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(Math.floor(Math.log2(sizeBytes) / 10), units.length);
  return `${trimmed(sizeBytes / 1024 ** power)} ${units[power - 1]}`;
}

/**
 * A name from inside a sandbox as a terminal may show it. SECURITY: a file name can hold escape sequences, which would let the program that
 * made it write over our own lines.
 */
export function shownName(name: string): string {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(name) ? name : JSON.stringify(name).replace(/[^\x20-\x7e]/g, '?');
}

function trimmed(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0).replace(/\.0$/, '');
}
