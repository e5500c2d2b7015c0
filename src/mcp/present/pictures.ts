import type { ContentBlock } from '@modelcontextprotocol/server';
import type { Display, ExecutionResult, Representation, Value } from '../../execution/result.ts';
import { isTextType } from '../../lib/media-type.ts';
import { clip } from './clip.ts';

/** What models look at. Others (SVG, PDF) are files to them. */
const PICTURE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** Larger ones are refused by the models' makers, and a reply with more of them by clients. */
export const PICTURE_BYTES = 3 * 1_048_576;
const PICTURES_BYTES = 6 * 1_048_576;
export const MOST_PICTURES = 8;

export function isPicture(mediaType: string): boolean {
  return PICTURE_TYPES.includes(mediaType);
}

export function imageBlock(mediaType: string, data: Buffer): ContentBlock {
  return { type: 'image', mimeType: mediaType, data: data.toString('base64') };
}

/** What an execution showed: pictures to look at, and text for the rest. */
export interface Shown {
  readonly images: ContentBlock[];
  readonly texts: string[];
}

export function shownOf({ displays, value }: ExecutionResult, chars: number): Shown {
  const images: ContentBlock[] = [];
  const texts: string[] = [];
  let room = PICTURES_BYTES;
  for (const display of [...displays, ...(value === undefined ? [] : [pictureAlone(value)])]) {
    const picture = display.representations.find(({ mediaType }) => isPicture(mediaType));
    if (picture === undefined) texts.push(textOf(display, chars));
    else if (images.length < MOST_PICTURES && picture.data.length <= Math.min(room, PICTURE_BYTES)) {
      images.push(imageBlock(picture.mediaType, picture.data));
      room -= picture.data.length;
    } else texts.push(`[a picture of ${picture.data.length} bytes, which is more than a reply may hold]`);
  }
  return {
    images,
    texts: bounded(
      texts.filter((text) => text !== ''),
      chars / 2,
    ),
  };
}

/** A program may show a thousand things. */
function bounded(texts: readonly string[], chars: number): string[] {
  let room = chars;
  const end = texts.findIndex((text) => {
    room -= text.length;
    return room < 0;
  });
  if (end === -1) return [...texts];
  return [
    ...texts.slice(0, end),
    clip(texts[end]!, Math.max(0, room + texts[end]!.length)).text,
    ...more(texts.length - end - 1),
  ];
}

function more(count: number): string[] {
  return count === 0 ? [] : [`[${count} more things were displayed]`];
}

/** Its text is told apart from what was shown. */
function pictureAlone({ representations }: Value): Display {
  return { representations: representations.filter(({ mediaType }) => isPicture(mediaType)) };
}

const READABLE = ['text/plain', 'text/markdown', 'text/latex', 'application/json'];

function textOf({ representations }: Display, chars: number): string {
  const best = READABLE.map((type) => representations.find(({ mediaType }) => mediaType === type)).find(
    (found): found is Representation => found !== undefined,
  );
  if (best !== undefined) return clip(best.data.toString('utf8'), chars).text;
  const [first] = representations;
  if (first === undefined) return '';
  const size = isTextType(first.mediaType) ? `${first.data.length} characters` : `${first.data.length} bytes`;
  return `[shown as ${first.mediaType}, ${size}]`;
}
