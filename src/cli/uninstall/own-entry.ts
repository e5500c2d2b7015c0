import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { isBuiltRunsc } from '../../drivers/gvisor/built-runsc.ts';
import { NO_LINK } from '../../lib/held-folder.ts';

/**
 * Whether Hotcell wrote an entry of a part whose names other programs use as well: a `bin/runsc`, a `history/x.jsonl`, or
 * a `packages/tools`.
 * Names in the other parts are hashes and ids.
 */
export function isOwnEntry(dataDir: string, part: string, entry: string): boolean {
  const path = join(dataDir, part, entry);
  if (part === 'bin') return isBuiltRunsc(dataDir);
  if (part === 'history') return isFirstLine(path, (line) => typeof line === 'string');
  if (part === 'audit' && !entry.includes('.lock')) return isFirstLine(path, isAuditEntry);
  const inside = COMMON_FOLDERS[`${part}/${entry}`];
  return inside === undefined || holdsOnly(path, inside);
}

/** Folders with common names, and the names of what Hotcell writes there. */
const COMMON_FOLDERS: Readonly<Record<string, RegExp>> = {
  'packages/tools': /^((uv|npm)-\d[\w.-]*|making-[\w-]+)$/,
  'packages/bases': /^[0-9a-f]{64}\.json(\.[\w-]+)?$/,
  'layers/kept': /^s-[0-9a-f]+$/,
};

function holdsOnly(folder: string, names: RegExp): boolean {
  try {
    return readdirSync(folder).every((name) => names.test(name));
  } catch {
    return false;
  }
}

function isAuditEntry(line: unknown): boolean {
  return typeof line === 'object' && line !== null && AUDIT_FIELDS.every((field) => field in line);
}

const AUDIT_FIELDS = ['time', 'event', 'owner'];
const LONGEST_LINE = 1_048_576;

/** Whether a regular file is empty, or its first line is JSON of this kind. Follows no link and waits for no writer. */
function isFirstLine(path: string, isKind: (line: unknown) => boolean): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | NO_LINK);
    if (!fstatSync(file).isFile()) return false;
    const bytes = Buffer.alloc(LONGEST_LINE);
    const text = bytes.toString('utf8', 0, readSync(file, bytes));
    return text === '' || isKind(JSON.parse(text.split('\n', 1)[0]!));
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
