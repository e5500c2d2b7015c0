/** Text for people: colours, and names that came from a sandbox. */

import { type ColouredStream, type Environment, wantsColours } from './terminal.ts';

export type Colour = 'green' | 'red' | 'yellow' | 'magenta' | 'cyan' | 'dim' | 'bold' | 'reverse';
export type Paint = (colour: Colour, text: string) => string;

const CODES: Readonly<Record<Colour, number>> = {
  ...{ red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 },
  ...{ bold: 1, dim: 2, reverse: 7 },
};

/** Colours for a stream that supports them; plain text for any other. */
export function painterFor(stream: ColouredStream, env?: Environment): Paint {
  if (!wantsColours(stream, env)) return (_, text) => text;
  return (colour, text) => `\x1b[${CODES[colour]}m${text}\x1b[0m`;
}

/**
 * A name from a sandbox as a terminal may show it. SECURITY: a file name can contain escape sequences, by which the
 * program that made it would overwrite Hotcell's own lines.
 */
export function shownName(name: string): string {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(name) ? name : JSON.stringify(name).replace(/[^\x20-\x7e]/g, '?');
}
