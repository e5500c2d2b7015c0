import { createTwoFilesPatch } from 'diff';
import type { ProfileName } from '../../config/schema.ts';
import type { KeepPolicy, Merged } from './additions.ts';
import { type Client, entryFor, type Scope } from './clients.ts';
import { entryIn, sourceOf, withEntry, withMergedEntry, withoutEntry } from './config-editor.ts';
import type { EntryPath } from './editor.ts';
import { isOwnEntry, startsHotcell } from './launch.ts';
import type { Machine } from './machine.ts';
import { hasRules, rulesFor, withoutRules, withRules, withRulesOf } from './rules.ts';
import { isTable, type ServerEntry } from './server-entry.ts';

/** A file before and after a change. `undefined`: it does not exist. */
export interface Change {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Set if `before` is Hotcell's own work: a backup of it would replace that of the user's file. */
  readonly isOwn?: boolean;
  /** Set if the backup has an entry that is not restored, so it must stay. */
  readonly needsBackup?: boolean;
  /** Set if the file has an entry of that name that does not start Hotcell. Undoing leaves it as it is. */
  readonly isForeign?: boolean;
}

/** Reads the file on disk, and the backup from before Hotcell's last change. */
export interface FileReader {
  text(path: string): string | undefined;
  backup(path: string): string | undefined;
}

const SERVER_NAME = 'hotcell';

/** The target of an installation: a client, for the user or for one project, on this machine. */
export interface Target {
  readonly client: Client;
  readonly scope: Scope;
  readonly machine: Machine;
}

export function installChanges(
  { client, scope, machine }: Target,
  entry: ServerEntry,
  files: FileReader,
  options: { rules: boolean; profile: readonly ProfileName[]; policy: KeepPolicy },
): { changes: Change[]; merged: Merged; isReplaced: boolean } {
  const path = placeOf(client, scope, machine);
  const before = files.text(path);
  const config = { format: client.format, text: before ?? '', path: pathOf(client), file: path };
  const old = entryIn(config);
  const { text: after, merged } = withMergedEntry(config, entryFor(client, entry), options.policy);
  const rules = options.rules ? client.rules?.[scope](machine) : undefined;
  const text = rules === undefined ? undefined : files.text(rules);
  const changes = [
    { path, before, after, isOwn: isOwnEntry(old) },
    ...(rules === undefined
      ? []
      : [
          { path: rules, before: text, after: withRules(text ?? '', rulesFor(options.profile)), isOwn: hasRules(text) },
        ]),
  ];
  return { changes, merged, isReplaced: old !== undefined && !isOwnEntry(old) };
}

/**
 * The changes that remove Hotcell. `restore`: also put back the entry that Hotcell replaced, in a project too, and if an
 * earlier undo has left it out.
 *
 * SECURITY: in a stranger's project the backup is the stranger's, too, so no entry is taken from it unless the user says
 * so: a client may have the user's approval for the name.
 */
export function undoChanges(
  { client, scope, machine }: Target,
  files: FileReader,
  { restore = false }: { restore?: boolean } = {},
): Change[] {
  const path = placeOf(client, scope, machine);
  const rules = client.rules?.[scope](machine);
  const config = (text: string) => ({ format: client.format, text, path: pathOf(client), file: path });
  const take = (text: string) => withoutEntry(config(text));
  const put = (text: string, current: string) => {
    const entry = entryIn(config(current));
    return isTable(entry) ? withEntry(config(text), entry) : text;
  };
  const isOurs = (text: string) => startsHotcell(entryIn(config(text)));
  const ofRules = { take: withoutRules, put: withRulesOf, isOurs: hasRules, restores: false, isLate: false };
  return [
    undone(path, files, { take, put, isOurs, restores: restore || scope === 'user', isLate: restore }),
    ...(rules === undefined ? [] : [{ ...undone(rules, files, ofRules), needsBackup: false }]),
  ];
}

/** The entry that Hotcell replaced, as the backup has it. */
export function replacedEntry({ client, scope, machine }: Target, files: FileReader): string | undefined {
  const file = placeOf(client, scope, machine);
  const text = files.backup(file);
  return text === undefined ? undefined : sourceOf({ format: client.format, text, path: pathOf(client), file });
}

/** The changed lines without context, because a configuration contains secrets of other servers. */
export function diffText({ path, before, after }: Change): string {
  return createTwoFilesPatch(
    before === undefined ? '/dev/null' : path,
    after === undefined ? '/dev/null' : path,
    before ?? '',
    after ?? '',
    undefined,
    undefined,
    { context: 0 },
  ).replace(/^=+\n/, '');
}

export function placeOf(client: Client, scope: Scope, machine: Machine): string {
  const place = client.places[scope];
  if (place === undefined) throw new Error(`${client.title} has no ${scope} scope`);
  return place(machine);
}

export function pathOf(client: Client): EntryPath {
  return [client.key, SERVER_NAME];
}

interface Editing {
  /** The text without Hotcell's part. */
  take(text: string): string;
  /** The text with the part that `from` has in its place, if it has any. */
  put(text: string, from: string): string;
  /** Whether the part in the text is Hotcell's. */
  isOurs(text: string): boolean;
  /** Whether a part of that name in the backup, which Hotcell replaced, comes back. */
  readonly restores: boolean;
  /** Whether it also comes back if Hotcell's own part is gone already. */
  readonly isLate: boolean;
}

/**
 * The text after uninstalling. A file that was not changed since gets its old bytes back; a file that Hotcell created
 * is removed. In a file that others changed since, an entry that Hotcell replaced comes back.
 */
function undone(path: string, files: FileReader, { take, put, isOurs, restores, isLate }: Editing): Change {
  const before = files.text(path);
  if (before === undefined) return { path, before, after: undefined };
  const without = take(before);
  const isGone = without === before;
  if (!isGone && !isOurs(before)) return { path, before, after: before, isForeign: true };
  if (isGone && !isLate) return { path, before, after: before };
  const backup = files.backup(path);
  if (backup === undefined) return { path, before, after: !isGone && saysNothing(without) ? undefined : without };
  const isReplaced = take(backup) !== backup;
  if (isGone && !isReplaced) return { path, before, after: before };
  const isUnchangedSince = isGone ? take(backup) === before : put(backup, before) === before;
  if (isUnchangedSince && (restores || !isReplaced)) return { path, before, after: backup };
  return restores
    ? { path, before, after: put(without, backup) }
    : { path, before, after: without, needsBackup: isReplaced };
}

/**
 * Whether a text is blank or an empty object. SECURITY: not one regular expression, which took seconds on a file of
 * blanks.
 */
function saysNothing(text: string): boolean {
  const said = text.trim();
  return said === '' || (said.startsWith('{') && said.endsWith('}') && said.slice(1, -1).trim() === '');
}
