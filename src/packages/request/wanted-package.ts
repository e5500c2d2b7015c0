import { HotcellError } from '../../errors/hotcell-error.ts';
import { isWorkspacePath } from '../../lib/workspace-path.ts';

/** One package of a request. `text` is its canonical form: equal texts want the same. */
export type WantedPackage = NamedPackage | LocalPackage;

/** A package of a registry. */
export interface NamedPackage {
  readonly kind: 'named';
  /** The name as the registry compares it. */
  readonly name: string;
  readonly text: string;
}

/** A file or folder of the session's workspace. */
export interface LocalPackage {
  readonly kind: 'local';
  /** The path below the workspace; empty for the workspace itself. */
  readonly path: string;
  /** Optional parts, as `[dev]`. */
  readonly extras: string;
  readonly text: string;
}

const LONGEST = 500;

/** Throws if a text cannot be that of a package at all. Returns it without the spaces around it. */
export function plainText(text: string): string {
  const trimmed = text.trim();
  // SECURITY: a line break would begin another line of a requirements file, which may be an option.
  if (trimmed === '' || trimmed.length > LONGEST || !/^[\x20-\x7e]*$/.test(trimmed))
    throw badPackage(text, 'it is not the name of a package');
  if (trimmed.startsWith('-')) throw badPackage(text, 'options are not accepted');
  if (/^[\w+.-]*:\/\/|^git\+|^(?:git|github|gitlab|bitbucket|file|http|https|ssh|npm|workspace):/i.test(trimmed))
    throw badPackage(text, 'addresses and repositories are not accepted');
  return trimmed;
}

/**
 * Reads `./name`, `.` and, for a file with one of these endings, its bare path. Undefined if it is not of the workspace's. The path of an archive must end in one of
 * `endings`; any other is that of a folder.
 */
export function localPackage(text: string, endings: readonly string[]): LocalPackage | undefined {
  const [, written = text, extras = ''] = /^([^[\]]*)(\[[A-Za-z0-9._, -]*\])?$/.exec(text) ?? [];
  const isFile = endings.some((ending) => written.endsWith(ending));
  if (!(written.startsWith('.') || written.startsWith('/') || isFile)) return undefined;
  const path = written === '.' || written === './' ? '' : written.replace(/^\.\//, '').replace(/\/$/, '');
  if (
    written.startsWith('/') ||
    (path !== '' && !isWorkspacePath(path)) ||
    (written.startsWith('.') && !/^\.(\/|$)/.test(written))
  )
    throw badPackage(text, 'a path must be below the workspace, written as ./name');
  if (!/^[\w.+!@~/-]*$/.test(path)) throw badPackage(text, 'a path may have letters, digits and ._+!@~- only');
  return { kind: 'local', path, extras: extras.replaceAll(' ', ''), text: `./${path}${extras.replaceAll(' ', '')}` };
}

/** The text is the caller's own, so it may be shown. */
export function badPackage(text: string, problem: string): HotcellError {
  const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
  return new HotcellError('invalid_argument', `package ${shown}: ${problem}`, {
    remedy:
      'Name packages of the registry, with versions if needed, such as httpx, rich>=13 or pandas==2.2.3 (npm: left-pad@^1), or a wheel or folder of the workspace, such as ./dist/mine.whl.',
  });
}
