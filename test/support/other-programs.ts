import { strFromU8, unzipSync } from 'fflate';
import { parquetReadObjects } from 'hyparquet';
import { PNG } from 'pngjs';
import { extractText } from 'unpdf';

/** Readers of what a sandbox wrote, none of which is the program that wrote it. */

/** The cells of a sheet, row by row: numbers as numbers, text as text. */
export function sheetOf(xlsx: Buffer, sheet = 1): (string | number)[][] {
  const files = unzipSync(xlsx);
  const part = (name: string) => (files[name] === undefined ? '' : strFromU8(files[name]));
  const shared = [...part('xl/sharedStrings.xml').matchAll(/<si>(.*?)<\/si>/gs)].map(([, text]) =>
    textIn(text as string),
  );
  const rows = [...part(`xl/worksheets/sheet${sheet}.xml`).matchAll(/<row[^>]*>(.*?)<\/row>/gs)];
  return rows.map(([, row]) =>
    [...(row as string).matchAll(/<c ([^>]*?)(?:\/>|>(.*?)<\/c>)/gs)].map(([, attributes, content = '']) => {
      const value = /<v>(.*?)<\/v>/s.exec(content)?.[1] ?? '';
      if (/t="s"/.test(attributes as string)) return shared[Number(value)] ?? '';
      return /t="(inlineStr|str)"/.test(attributes as string) ? textIn(content) : Number(value);
    }),
  );
}

export async function parquetRows(file: Buffer): Promise<Record<string, unknown>[]> {
  const bytes = new Uint8Array(file);
  return parquetReadObjects({ file: bytes.buffer });
}

export async function pdfText(file: Buffer): Promise<string> {
  const { text } = await extractText(new Uint8Array(file), { mergePages: true });
  return text;
}

/** Width, height, and how many colours there are among the first hundred thousand pixels. */
export function pictureOf(png: Buffer): { width: number; height: number; colours: number } {
  const { width, height, data } = PNG.sync.read(png);
  const colours = new Set<number>();
  for (let at = 0; at + 4 <= Math.min(data.length, 400_000); at += 4) colours.add(data.readUInt32BE(at));
  return { width, height, colours: colours.size };
}

function textIn(xml: string): string {
  return xml
    .replace(/<[^>]+>/g, '')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>');
}
