import { createHash } from 'node:crypto';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import { either } from '../../../lib/abort.ts';
import { createDeadline } from '../../../lib/deadline.ts';
import type { SessionFiles } from '../../../sessions/session-files.ts';
import type { LocalPackage } from '../../request/wanted-package.ts';

/** A wheel or a folder of a session's workspace, as it was when it was read. */
export interface LocalSource {
  readonly wanted: LocalPackage;
  /** Contents by path: of a wheel its file name alone, of a folder the paths below it. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly isWheel: boolean;
  /** Equal for equal contents. */
  readonly digest: string;
}

const MOST_BYTES = 64 * 1_048_576;
const MOST_FILES = 2000;
/** SECURITY: a place of the server is held meanwhile, and the sandbox decides how fast its files are read. */
const LONGEST_READ_MS = 120_000;
/** The guest lists no more at once. */
const MOST_LISTED = 5000;
/** Folders that tools make, and that no build needs. */
const LEFT_OUT =
  /(?:^|\/)(?:\.git|\.hg|\.venv|venv|__pycache__|node_modules|\.tox|\.mypy_cache|\.pytest_cache)(?:\/|$)/;

/** Reads a package of the workspace. Rejects with `invalid_argument` if it is none, too large, or takes too long to read. */
export async function readLocal(
  files: Pick<SessionFiles, 'list' | 'read'>,
  wanted: LocalPackage,
  given?: AbortSignal,
): Promise<LocalSource> {
  using deadline = createDeadline(LONGEST_READ_MS, () => tooSlow(wanted.text));
  const signal = either(deadline.signal, given);
  const isWheel = wanted.path.endsWith('.whl');
  const contents = isWheel ? await readWheel(files, wanted, signal) : await readFolder(files, wanted, signal);
  const hash = createHash('sha256');
  for (const [path, content] of contents) hash.update(`${path}\0${content.length}\0`).update(content);
  return { wanted, files: contents, isWheel, digest: hash.digest('hex') };
}

async function readWheel(
  files: Pick<SessionFiles, 'read'>,
  { path }: LocalPackage,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Buffer>> {
  return new Map([[path.split('/').at(-1)!, await files.read(path, { limitBytes: MOST_BYTES, signal })]]);
}

async function readFolder(
  files: Pick<SessionFiles, 'list' | 'read'>,
  { path, text }: LocalPackage,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Buffer>> {
  const folder = path === '' ? '.' : path;
  const { entries, omitted } = await files.list(folder, { recursive: true, limit: MOST_LISTED, signal });
  const below = (whole: string) => (path === '' ? whole : whole.slice(path.length + 1));
  const wanted = entries
    .filter((entry) => entry.kind === 'file' && !LEFT_OUT.test(below(entry.path)))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
  if (!wanted.some((entry) => ['pyproject.toml', 'setup.py'].includes(below(entry.path))))
    throw refused(text, 'it has neither a pyproject.toml nor a setup.py');
  const bytes = wanted.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  if (omitted > 0 || wanted.length > MOST_FILES || bytes > MOST_BYTES) throw tooLarge(text);
  const contents = new Map<string, Buffer>();
  let left = MOST_BYTES;
  for (const entry of wanted) {
    // SECURITY: the list says what the files had then. Each may have grown since, and all are held in memory.
    const content = await readAtMost(files, entry.path, { limitBytes: left, signal });
    if (content === undefined) throw tooLarge(text);
    left -= content.length;
    contents.set(below(entry.path), content);
  }
  return contents;
}

/** Undefined if the file is larger. */
async function readAtMost(
  files: Pick<SessionFiles, 'read'>,
  path: string,
  options: { limitBytes: number; signal: AbortSignal },
): Promise<Buffer | undefined> {
  try {
    return await files.read(path, options);
  } catch (error) {
    if (error instanceof HotcellError && error.code === 'file_too_large') return undefined;
    throw error;
  }
}

function tooLarge(text: string): HotcellError {
  return refused(text, `it has more than ${MOST_FILES} files or ${MOST_BYTES / 1_048_576} MiB`);
}

function tooSlow(text: string): HotcellError {
  return refused(text, `the sandbox took more than ${LONGEST_READ_MS / 1000} s to read it`);
}

function refused(text: string, why: string): HotcellError {
  return new HotcellError('invalid_argument', `package ${text}: ${why}`, {
    remedy: 'Name a wheel, or a folder that pip could install.',
  });
}
