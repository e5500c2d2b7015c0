/** The first entry of a tar archive that the engine made of one file or one link. */
export interface TarEntry {
  readonly kind: 'file' | 'link' | 'other';
  /** The target of a link, as stored. */
  readonly linkTarget: string;
  readonly content: Buffer;
}

const BLOCK = 512;
/** Types of headers that describe the next entry. */
const ABOUT_THE_NEXT = ['x', 'g', 'K', 'L'];
const KINDS: Readonly<Record<string, TarEntry['kind']>> = { '0': 'file', '\0': 'file', '2': 'link' };

/**
 * Reads a tar archive in ustar format, with PAX and GNU headers for long link targets. Returns undefined for a
 * truncated archive.
 */
export function firstTarEntry(archive: Buffer): TarEntry | undefined {
  let longTarget: string | undefined;
  for (const { type, header, content } of records(archive)) {
    if (content === undefined) return undefined;
    if (type === 'x') longTarget = paxRecord(content, 'linkpath') ?? longTarget;
    else if (type === 'K') longTarget = text(content, 0, content.length);
    else if (!ABOUT_THE_NEXT.includes(type)) {
      return { kind: KINDS[type] ?? 'other', linkTarget: longTarget ?? text(header, 157, 100), content };
    }
  }
  return undefined;
}

/** The number of files, folders and links whose headers are in an archive or a prefix of it. */
export function entriesOf(archive: Buffer): number {
  let entries = 0;
  for (const { type, header } of records(archive)) {
    if (!ABOUT_THE_NEXT.includes(type) && header.some((byte) => byte !== 0)) entries += 1;
  }
  return entries;
}

interface TarRecord {
  readonly type: string;
  readonly header: Buffer;
  /** The content; undefined if the archive is truncated before its end. */
  readonly content: Buffer | undefined;
}

function* records(archive: Buffer): Generator<TarRecord> {
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const header = archive.subarray(at, at + BLOCK);
    const type = header.toString('latin1', 156, 157);
    const size = Number.parseInt(text(header, 124, 12).trim() || '0', 8);
    const end = at + BLOCK + size;
    const isWhole = Number.isSafeInteger(size) && size >= 0 && end <= archive.length;
    yield { type, header, content: isWhole ? archive.subarray(at + BLOCK, end) : undefined };
    if (!isWhole) return;
    at = BLOCK * Math.ceil(end / BLOCK);
  }
}

function text(bytes: Buffer, start: number, length: number): string {
  const field = bytes.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? field.length : end);
}

/** Finds a PAX record, `<length> <key>=<value>\n`; its length counts the whole record. */
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
