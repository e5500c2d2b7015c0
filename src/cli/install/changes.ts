import { createTwoFilesPatch } from 'diff';
import type { ProfileName } from '../../config/schema.ts';
import type { KeepPolicy, Merged } from './additions.ts';
import { type Client, entryFor, type Scope } from './clients.ts';
import { entryIn, withEntry, withMergedEntry, withoutEntry } from './config-editor.ts';
import type { EntryPath } from './editor.ts';
import { isOwnEntry } from './launch.ts';
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

export function undoChanges({ client, scope, machine }: Target, files: FileReader): Change[] {
  const path = placeOf(client, scope, machine);
  const rules = client.rules?.[scope](machine);
  const config = (text: string) => ({ format: client.format, text, path: pathOf(client), file: path });
  const take = (text: string) => withoutEntry(config(text));
  // SECURITY: in a stranger's project the backup is the stranger's, too, so no entry is taken from it: a client may have
  // the user's approval for the name.
  const restores = scope === 'user';
  const put = (text: string, current: string) => {
    const entry = entryIn(config(current));
    return isTable(entry) ? withEntry(config(text), entry) : text;
  };
  return [
    undone(path, files, { take, put, restores }),
    ...(rules === undefined
      ? []
      : [{ ...undone(rules, files, { take: withoutRules, put: withRulesOf, restores: false }), needsBackup: false }]),
  ];
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
  /** Whether a part of that name in the backup, which Hotcell replaced, comes back. */
  readonly restores: boolean;
}

/**
 * The text after uninstalling. A file that was not changed since gets its old bytes back; a file that Hotcell created
 * is removed. In a file that others changed since, an entry that Hotcell replaced comes back.
 */
function undone(path: string, files: FileReader, { take, put, restores }: Editing): Change {
  const before = files.text(path);
  if (before === undefined) return { path, before, after: undefined };
  const without = take(before);
  if (without === before) return { path, before, after: before };
  const backup = files.backup(path);
  if (backup === undefined) return { path, before, after: saysNothing(without) ? undefined : without };
  const isUnchangedSince = (restores || take(backup) === backup) && put(backup, before) === before;
  if (isUnchangedSince) return { path, before, after: backup };
  return restores
    ? { path, before, after: put(without, backup) }
    : { path, before, after: without, needsBackup: take(backup) !== backup };
}

/**
 * Whether a text is blank or an empty object. SECURITY: not one regular expression, which took seconds on a file of
 * blanks.
 */
function saysNothing(text: string): boolean {
  const said = text.trim();
  return said === '' || (said.startsWith('{') && said.endsWith('}') && said.slice(1, -1).trim() === '');
}
