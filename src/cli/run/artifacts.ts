import { join, posix } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { ExecutionResult } from '../../execution/result.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { trimEndOf } from '../../lib/trim-end.ts';
import { sizeText } from '../../lib/units.ts';
import type { MountRequest } from '../../sessions/mounts.ts';
import { type HoldOptions, holdPlace, leadsTo, type NamedPlace } from '../named-place.ts';
import type { OpenFolder } from '../open-folder.ts';
import { namedDisplays, picturesOf } from './displays.ts';
import { type Content, saveFile } from './save-file.ts';

export type Made = Pick<ExecutionResult, 'artifacts' | 'displays'>;

/** The source of files: a local session, or one of a server. */
export interface FileSource {
  stream(path: string): AsyncIterable<Uint8Array>;
}

/** The result of saving: the paths that were copied, and the others with the reason. */
export interface Saved {
  readonly saved: readonly string[];
  readonly notSaved: readonly NotSaved[];
}

interface NotSaved {
  readonly path: string;
  readonly reason: string;
  /** Set for a hidden file, which is skipped on purpose. Not a failure. */
  readonly isHidden?: true;
  /** Set for a file that a later cell or a background process removed before it was copied. Not a failure. */
  readonly isGone?: true;
}

/**
 * SECURITY: programs of the host read `.git/config`, `.envrc` and similar files as commands. So no hidden file of a
 * sandbox is saved, whatever the folder.
 */
const HIDDEN = {
  reason: 'skipped: hidden file (its name begins with a dot, or may be an alias of such a name)',
  isHidden: true,
} as const;

const GONE = { reason: 'deleted in the sandbox before it could be copied', isGone: true } as const;

const REPLACED = {
  reason: 'replaced while files were saved in it; they are in the folder that was there before',
} as const;

/** EX_CANTCREAT of sysexits.h: the exit code if the program succeeded but a file could not be saved. */
export const EXIT_NOT_SAVED = 73;

/** Maximum growth of a file after it was listed. SECURITY: list and files may come from a hostile server. */
const MOST_GROWTH_BYTES = 64 * 1_048_576;
const MOST_BYTES = 8 * 1024 ** 3;
const MOST_FOLDERS = 10_000;

/**
 * Copies the files of a program to a folder of the host. Displays become `figure-1.png`, `display-2.html` and so on. A
 * file that cannot be copied does not stop the others. Rejects only if the folder itself cannot be used.
 */
export async function saveArtifacts(made: Made, files: FileSource, folder: NamedPlace): Promise<Saved> {
  using root = usableFolder(folder);
  const saved: string[] = [];
  const notSaved: NotSaved[] = [];
  const room = { bytes: MOST_BYTES, folders: MOST_FOLDERS };

  async function save(path: string, content: Content, listedBytes: number): Promise<void> {
    if (path.split('/').some(isHiddenName)) {
      notSaved.push({ path, ...HIDDEN });
      return;
    }
    try {
      await saveFile(root, path, content, { room, limitBytes: listedBytes + MOST_GROWTH_BYTES });
      saved.push(join(folder.typed, path));
    } catch (error) {
      const isGone = error instanceof HotcellError && error.code === 'file_not_found';
      notSaved.push({ path, ...(isGone ? GONE : { reason: reasonOf(error) }) });
    }
  }

  for (const { path, sizeBytes } of made.artifacts) await save(path, files.stream(path), sizeBytes);
  const taken = new Set(made.artifacts.map(({ path }) => path));
  for (const { name, data } of namedDisplays(made.displays, taken)) await save(name, [data], data.length);
  if (!leadsTo(folder, root)) notSaved.push({ path: folder.typed, ...REPLACED });
  return { saved, notSaved };
}

/** SECURITY: macOS ignores invisible characters in names (`.g\u200cit`), and Windows knows `.git` also as `GIT~1`. */
function isHiddenName(name: string): boolean {
  const seen = name.replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  if (/^[^.]{1,7}~\d{1,6}(\.[^.]{0,3})?$/u.test(seen)) return true;
  return seen.startsWith('.') && name !== '.' && name !== '..';
}

/** Lines that list the saved files, and the others with the reason. */
export function savedLines({ saved, notSaved }: Saved): string[] {
  const shown = notSaved.slice(0, MOST_TOLD).map(({ path, reason }) => `  ${cutName(path)}: ${reason}`);
  const named = saved.slice(0, MOST_NAMED).map(cutName);
  if (saved.length > named.length) named.push(`and ${saved.length - named.length} more`);
  return [
    ...(saved.length === 0 ? [] : [`hotcell: saved ${named.join(', ')}`]),
    ...(notSaved.length === 0 ? [] : [`hotcell: not saved, ${notSaved.length} of ${saved.length + notSaved.length}:`]),
    ...shown,
    ...(notSaved.length > shown.length ? [`  and ${notSaved.length - shown.length} more`] : []),
  ];
}

const MOST_TOLD = 20;
const MOST_NAMED = 100;

/**
 * SECURITY: a path may have 4,200 characters, and the list a thousand paths. Uncut, they would bury Hotcell's own
 * lines.
 */
function cutName(path: string): string {
  return path.length > 300 ? `${quotedName(path.slice(0, 300))}…` : quotedName(path);
}

/** The program's exit code. If it succeeded and files are missing, `EXIT_NOT_SAVED`. */
export function exitCodeWith(exitCode: number, saved: Saved | undefined): number {
  const isMissing = saved?.notSaved.some(({ isHidden, isGone }) => isHidden !== true && isGone !== true) === true;
  return exitCode === 0 && isMissing ? EXIT_NOT_SAVED : exitCode;
}

/** Files that exist only in the sandbox. A file below a mounted folder is on the host already. */
export function withoutMounted(made: Made, mounts: readonly MountRequest[]): Made {
  const targets = mounts.map(({ target }) => trimEndOf(target, '/'));
  const isMounted = (path: string) => targets.some((target) => isBelow(posix.join('/workspace', path), target));
  return { displays: made.displays, artifacts: made.artifacts.filter(({ path }) => !isMounted(path)) };
}

/** Text about files that were deleted with the sandbox, and how to keep them next time. */
export function unsavedText({ artifacts, displays }: Made): string | undefined {
  const pictures = picturesOf(displays).length;
  const parts = [
    ...artifacts.slice(0, 5).map(({ path, sizeBytes }) => `${cutName(path)} (${sizeText(sizeBytes)})`),
    ...(artifacts.length > 5 ? [`${artifacts.length - 5} more files`] : []),
    ...(pictures === 0 ? [] : [pictures === 1 ? 'a figure' : `${pictures} figures`]),
  ];
  if (parts.length === 0) return undefined;
  return `hotcell: not saved: ${parts.join(', ')}. Save them with --save-artifacts <folder>.`;
}

/**
 * Holds the folder of `--save-artifacts` before the program runs. Refuses one that cannot be written now: afterwards the
 * files of the program would be lost.
 */
export function holdArtifactsFolder(typed: string, options: HoldOptions = {}): NamedPlace {
  const folder = holdPlace(typed, options);
  try {
    folder.requireWritable();
    return folder;
  } catch (error) {
    folder[Symbol.dispose]();
    throw unusableFolder(folder, error);
  }
}

/** SECURITY: opened once. Code in the sandbox may still run, and replace a folder that it can write to by a link. */
function usableFolder(folder: NamedPlace): OpenFolder {
  try {
    return folder.make();
  } catch (error) {
    throw error instanceof HotcellError ? error : unusableFolder(folder, error);
  }
}

function unusableFolder({ typed }: NamedPlace, error: unknown): HotcellError {
  return new HotcellError('invalid_argument', `--save-artifacts: ${typed}: ${reasonOf(error)}`, {
    remedy: 'Choose a folder that you may write to.',
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ELOOP: 'a symbolic link of that name already exists',
  EMLINK: 'a symbolic link of that name already exists',
  ENAMETOOLONG: 'the name is too long for this file system',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
};

/** The reason in one line. SECURITY: the message may be a guest's or a server's. */
function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const said = error instanceof HotcellError ? message : (REASONS[code] ?? `cannot be written (${code || message})`);
  return said.slice(0, 500).replaceAll(/\s+/g, ' ');
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
