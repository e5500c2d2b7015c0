import type { ContentBlock } from '@modelcontextprotocol/server';
import type { Display, ExecutionResult, Representation, Value } from '../../execution/result.ts';
import { clip, clipDecoded } from '../../lib/clip.ts';
import { isTextType } from '../../lib/text-type.ts';

/** Image types that models accept. Others (SVG, PDF) are returned as files. */
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** Model APIs refuse larger images, and clients refuse replies with more bytes of images. */
export const PICTURE_BYTES = 3 * 1_048_576;
const PICTURES_BYTES = 6 * 1_048_576;
export const MOST_PICTURES = 8;

export function isPicture(mediaType: string): boolean {
  return PICTURE_TYPES.includes(mediaType);
}

export function imageBlock(mediaType: string, data: Buffer): ContentBlock {
  return { type: 'image', mimeType: mediaType, data: data.toString('base64') };
}

/** The displays of an execution: images, and text for the others. */
export interface Shown {
  readonly images: ContentBlock[];
  readonly texts: string[];
  /** How each display is shown, by its index: an image, a text, or not at all beyond the limits. */
  readonly each: readonly (ContentBlock | string | undefined)[];
  /** A note on the displays beyond the limits. It is the last of `texts`. */
  readonly more: readonly string[];
  readonly leftOut: LeftOut;
}

/** Images that are not in the reply. */
export interface LeftOut {
  /** Number of images beyond the limit of a reply. */
  readonly beyond: number;
  /** Number of images each of which is too large. */
  readonly large: number;
}

export function shownOf({ displays, value }: Pick<ExecutionResult, 'displays' | 'value'>, chars: number): Shown {
  const images: ContentBlock[] = [];
  const texts = createTexts(chars / 2);
  const leftOut = { beyond: 0, large: 0 };
  let room = PICTURES_BYTES;
  const each = [...displays, ...(value === undefined ? [] : [pictureAlone(value)])].map((display) => {
    const picture = display.representations.find(({ mediaType }) => isPicture(mediaType));
    if (picture === undefined) return texts.add(display);
    if (picture.data.length > PICTURE_BYTES) leftOut.large += 1;
    else if (images.length >= MOST_PICTURES || picture.data.length > room) leftOut.beyond += 1;
    else {
      const block = imageBlock(picture.mediaType, picture.data);
      images.push(block);
      room -= picture.data.length;
      return block;
    }
    return undefined;
  });
  return { images, texts: texts.all(), each: each.slice(0, displays.length), more: texts.more(), leftOut };
}

/** Notes on images that are not in the reply, with how to see them. */
export function leftOutNotes({ beyond, large }: LeftOut): string[] {
  return [
    ...(beyond === 0
      ? []
      : [
          `${counted(beyond, 'more figure')} not shown: a reply holds ${MOST_PICTURES}. Draw fewer in one call, or save them with savefig and see each with read_file.`,
        ]),
    ...(large === 0
      ? []
      : [
          `${counted(large, 'figure')} not shown: larger than ${PICTURE_BYTES / 1_048_576} MiB. Draw with a smaller figsize or dpi, or save it with savefig for the user.`,
        ]),
  ];
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? ' is' : 's are'}`;
}

/**
 * Texts with a budget of `chars` together. SECURITY: a program may show a thousand things of megabytes; displays beyond
 * the budget are counted, not decoded.
 */
function createTexts(chars: number) {
  const texts: string[] = [];
  let room = chars;
  let omitted = 0;

  function put(clipped: (chars: number) => string): string | undefined {
    if (room <= 0) {
      omitted += 1;
      return undefined;
    }
    const text = clipped(room);
    texts.push(text);
    room -= text.length;
    return text;
  }

  const say = (text: string) => put((most) => clip(text, most).text);

  return {
    say,
    add(display: Display): string | undefined {
      const best = readableOf(display);
      const [first] = display.representations;
      if (best === undefined) return first === undefined ? undefined : say(formOf(first));
      return best.data.length === 0 ? undefined : put((most) => clipDecoded(best.data, most));
    },
    more: () => more(omitted),
    all: () => [...texts, ...more(omitted)],
  };
}

function more(count: number): string[] {
  return count === 0 ? [] : [`[${count} more displays omitted]`];
}

/** The value without its text, which the reply shows in a block of its own. */
function pictureAlone({ representations }: Value): Display {
  return { representations: representations.filter(({ mediaType }) => isPicture(mediaType)) };
}

const READABLE = ['text/plain', 'text/markdown', 'text/latex', 'application/json'];

function readableOf({ representations }: Display): Representation | undefined {
  return READABLE.map((type) => representations.find(({ mediaType }) => mediaType === type)).find(
    (found) => found !== undefined,
  );
}

function formOf({ mediaType, data }: Representation): string {
  return `[display of type ${mediaType}, ${data.length} ${isTextType(mediaType) ? 'characters' : 'bytes'}]`;
}
