import type { Display, Representation } from '../../execution/result.ts';

/** Displays for a user at a terminal: text to read, and files to keep. */

export interface NamedDisplay {
  readonly name: string;
  readonly data: Buffer;
}

/** The text of a display without a picture, as a line; empty for a picture, or without text. */
export function displayText(display: Display): string {
  if (pictureOf(display) !== undefined) return '';
  const text = display.representations.find(({ mediaType }) => mediaType === 'text/plain');
  return text === undefined ? '' : `${text.data.toString('utf8')}\n`;
}

export function picturesOf(displays: readonly Display[]): Display[] {
  return displays.filter((display) => pictureOf(display) !== undefined);
}

/**
 * Displays as files, each in the format that other programs open best, under names that are not `taken`. Plain text was
 * printed and gets no file.
 */
export function namedDisplays(displays: readonly Display[], taken: ReadonlySet<string>): NamedDisplay[] {
  return displays.flatMap((display, index) => {
    const best = bestFile(display);
    if (best === undefined) return [];
    const stem = `${pictureOf(display) === undefined ? 'display' : 'figure'}-${index + 1}`;
    let name = `${stem}${best.extension}`;
    for (let more = '-shown'; taken.has(name); more += '-shown') name = `${stem}${more}${best.extension}`;
    return [{ name, data: best.data }];
  });
}

/** Media types with their extensions, best first. */
const EXTENSIONS: readonly (readonly [test: RegExp, extension: string])[] = [
  [/^image\/png$/, '.png'],
  [/^image\/svg\+xml$/, '.svg'],
  [/^image\/jpeg$/, '.jpg'],
  [/^image\/gif$/, '.gif'],
  [/^image\/webp$/, '.webp'],
  [/^application\/pdf$/, '.pdf'],
  [/^text\/html$/, '.html'],
  [/[/+.]json$/, '.json'],
  [/^text\/markdown$/, '.md'],
  [/^text\/latex$/, '.tex'],
  [/^(?!text\/plain$)/, '.bin'],
];

function bestFile({ representations }: Display): { data: Buffer; extension: string } | undefined {
  for (const [test, extension] of EXTENSIONS) {
    const found = representations.find(({ mediaType }) => test.test(mediaType));
    if (found !== undefined) return { data: found.data, extension };
  }
  return undefined;
}

function pictureOf({ representations }: Display): Representation | undefined {
  return representations.find(({ mediaType }) => mediaType.startsWith('image/') || mediaType === 'application/pdf');
}
