/** The first entry of an archive as the engine makes it of one file or one link. */
export interface TarEntry {
  readonly kind: 'file' | 'link' | 'other';
  /** The target of a link, as it is written in it. */
  readonly linkTarget: string;
  readonly content: Buffer;
}

const BLOCK = 512;
const KINDS: Readonly<Record<string, TarEntry['kind']>> = { '0': 'file', '\0': 'file', '2': 'link' };

/** Reads a tar archive of the format ustar, with the headers of PAX and GNU for long targets. Returns undefined for one that ends too early. */
export function firstTarEntry(archive: Buffer): TarEntry | undefined {
  let longTarget: string | undefined;
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK);
    const size = Number.parseInt(text(header, 124, 12).trim() || '0', 8);
    const end = at + BLOCK + size;
    if (!Number.isSafeInteger(size) || size < 0 || end > archive.length) return undefined;
    const content = archive.subarray(at + BLOCK, end);
    const type = header.toString('latin1', 156, 157);
    if (type === 'x') longTarget = paxRecord(content, 'linkpath') ?? longTarget;
    else if (type === 'K') longTarget = text(content, 0, content.length);
    else if (type !== 'g' && type !== 'L') {
      return { kind: KINDS[type] ?? 'other', linkTarget: longTarget ?? text(header, 157, 100), content };
    }
    at = BLOCK * Math.ceil(end / BLOCK);
  }
  return undefined;
}

function text(bytes: Buffer, start: number, length: number): string {
  const field = bytes.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? field.length : end);
}

/** A record is `<length> <key>=<value>\n`, and its length counts all of it. */
function paxRecord(content: Buffer, key: string): string | undefined {
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const length = Number.parseInt(content.toString('latin1', at, space), 10);
    if (space === -1 || !(length > 0)) return undefined;
    const record = content.toString('utf8', space + 1, at + length - 1);
    if (record.startsWith(`${key}=`)) return record.slice(key.length + 1);
    at += length;
  }
  return undefined;
}
