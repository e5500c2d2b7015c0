import { createTwoFilesPatch } from 'diff';
import type { ProfileName } from '../../config/schema.ts';
import type { KeepPolicy, Merged } from './additions.ts';
import { type Client, entryFor, type Scope } from './clients.ts';
import { entryIn, withEntry, withMergedEntry, withoutEntry } from './config-editor.ts';
import type { EntryPath } from './editor.ts';
import type { Machine } from './machine.ts';
import { rulesFor, withoutRules, withRules, withRulesOf } from './rules.ts';
import type { ServerEntry } from './server-entry.ts';

/** A file before and after a change. `undefined`: it does not exist. */
export interface Change {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
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
): { changes: Change[]; merged: Merged } {
  const path = placeOf(client, scope, machine);
  const before = files.text(path);
  const config = { format: client.format, text: before ?? '', path: pathOf(client), file: path };
  const { text: after, merged } = withMergedEntry(config, entryFor(client, entry), options.policy);
  const rules = options.rules ? client.rules?.[scope](machine) : undefined;
  const text = rules === undefined ? undefined : files.text(rules);
  const changes = [
    { path, before, after },
    ...(rules === undefined
      ? []
      : [{ path: rules, before: text, after: withRules(text ?? '', rulesFor(options.profile)) }]),
  ];
  return { changes, merged };
}

export function undoChanges({ client, scope, machine }: Target, files: FileReader): Change[] {
  const path = placeOf(client, scope, machine);
  const rules = client.rules?.[scope](machine);
  const config = (text: string) => ({ format: client.format, text, path: pathOf(client), file: path });
  const take = (text: string) => withoutEntry(config(text));
  const put = (text: string, current: string) => {
    const entry = entryIn(config(current)) as Record<string, unknown>;
    return withEntry(config(text), entry);
  };
  return [
    undone(path, files, take, put),
    ...(rules === undefined ? [] : [undone(rules, files, withoutRules, withRulesOf)]),
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

/**
 * The text after uninstalling. A file that was not changed since gets its old bytes back; a file that Hotcell created
 * is removed.
 */
function undone(
  path: string,
  files: FileReader,
  take: (text: string) => string,
  put: (text: string, current: string) => string,
): Change {
  const before = files.text(path);
  if (before === undefined) return { path, before, after: undefined };
  const without = take(before);
  if (without === before) return { path, before, after: before };
  const backup = files.backup(path);
  if (backup === undefined) return { path, before, after: saysNothing(without) ? undefined : without };
  const isUnchangedSince = take(backup) === backup && put(backup, before) === before;
  return { path, before, after: isUnchangedSince ? backup : without };
}

/**
 * Whether a text is blank or an empty object. SECURITY: not one regular expression, which took seconds on a file of
 * blanks.
 */
function saysNothing(text: string): boolean {
  const said = text.trim();
  return said === '' || (said.startsWith('{') && said.endsWith('}') && said.slice(1, -1).trim() === '');
}
