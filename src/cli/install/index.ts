import { loadConfig, resolveDataDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { packageRoot } from '../../lib/package-root.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { type Outputs, standardOutputs } from '../output.ts';
import { type Paint, shownName } from '../print.ts';
import { argumentsOf, optionsFromFlags, type ServerFlags } from '../server-flags.ts';
import { unknownName } from '../unknown-name.ts';
import { type Additions, KEEP_ALL } from './additions.ts';
import { type Change, diffText, installChanges, pathOf, placeOf, type Target, undoChanges } from './changes.ts';
import { CLIENT_NAMES, CLIENTS, type Client, entryFor, type Scope } from './clients.ts';
import { editorFor } from './config-editor.ts';
import { conflicts } from './conflicts.ts';
import { openKnownAdditions } from './known-additions.ts';
import { launchOf } from './launch.ts';
import { type Machine, thisMachine } from './machine.ts';
import { serverEntry } from './server-entry.ts';
import { backupOf, diskFiles, requireAllowed, type WriteOptions, writeChange } from './write-change.ts';

/** The flags as typed: those of this command, and those of `hotcell mcp`, which go into the entry. */
export interface InstallFlags extends ServerFlags {
  readonly scope?: string;
  readonly rules?: boolean;
  /** Whether to keep the additions of a project's file, which the user has read. */
  readonly keepEnv?: boolean;
  readonly print?: boolean;
  readonly undo?: boolean;
  readonly json?: boolean;
}

/** Adds Hotcell to a client's configuration, or removes it, and shows the change. Returns the exit code. */
export async function install(
  name: string,
  flags: InstallFlags,
  machine: Machine = thisMachine(),
  output: Outputs = standardOutputs(),
): Promise<number> {
  const client = clientOf(name);
  const scope = scopeOf(client, flags.scope);
  const target = { client, scope, machine };
  if (flags.undo) return undo(name, target, flags, output);
  const launch = launchOf({ node: process.execPath, root: packageRoot(), version: packageVersion() });
  const options = optionsFromFlags('mcp', flags);
  loadConfig(options); // refuses here, where the user sees it, what the server would refuse at its start
  const entry = serverEntry(machine, launch, argumentsOf('mcp', flags));
  if (flags.print) return print(target, entryFor(client, entry), flags, output);
  const known = openKnownAdditions(resolveDataDir(machine.variables));
  const place = placeOf(client, scope, machine);
  const { changes, merged, isReplaced } = installChanges(target, entry, diskFiles, {
    rules: flags.rules !== false,
    profile: options.profile ?? ['hotcell'],
    policy: scope === 'user' || flags.keepEnv === true ? KEEP_ALL : known.policyFor(place),
  });
  const where = writeOptions(target);
  const backups = await writeAll(changes, ({ isOwn }) => ({ ...where, backup: isOwn ? 'keep' : 'write' }));
  if (scope === 'project' && flags.keepEnv === true) known.remember(place, merged.kept);
  const stays = { kept: namesOf(merged.kept), dropped: merged.dropped };
  if (flags.json) {
    await output.stdout.json({ client: name, scope, ...stays, changes: asJson(changes, backups) });
    return 0;
  }
  const { say } = output.stdout;
  await showChanges(changes, backups, output);
  for (const line of additionLines(scope, stays)) await say(line);
  const isChanged = changes.some(({ before, after }) => before !== after);
  if (isReplaced) {
    const back = scope === 'user' ? 'hotcell install --undo brings it back' : 'the backup has it';
    await say(`Replaced another entry named hotcell; ${back}.`);
  }
  await say(isChanged ? client.afterwards : 'Nothing to change: already installed.');
  for (const warning of [isChanged ? launch.warning : undefined, ...conflicts(name, machine)])
    if (warning !== undefined) await say(warning);
  return 0;
}

async function undo(name: string, target: Target, flags: InstallFlags, output: Outputs): Promise<number> {
  const changes = undoChanges(target, diskFiles);
  const where = writeOptions(target);
  const backups = await writeAll(changes, ({ needsBackup }) => ({ ...where, backup: needsBackup ? 'keep' : 'remove' }));
  if (flags.json) {
    await output.stdout.json({ client: name, scope: target.scope, changes: asJson(changes, backups) });
    return 0;
  }
  await showChanges(changes, backups, output);
  const isChanged = changes.some(({ before, after }) => before !== after);
  const { title } = target.client;
  await output.stdout.say(
    isChanged
      ? `Removed Hotcell from the configuration of ${title}.`
      : 'Nothing to undo: Hotcell is not installed there.',
  );
  for (const { path } of changes.filter(({ needsBackup }) => needsBackup))
    await output.stdout.say(
      `Not restored, because a project is untrusted: the entry that was replaced. It is in ${backupOf(path)}.`,
    );
  return 0;
}

function writeOptions({ scope, machine }: Target): WriteOptions {
  return scope === 'user' ? { newFileMode: 0o600 } : { newFileMode: 0o644, folder: machine.folder };
}

/** Writes all changes, or none if one is not allowed. Returns the paths of the backups that were written. */
async function writeAll(
  changes: readonly Change[],
  optionsOf: (change: Change) => WriteOptions,
): Promise<(string | undefined)[]> {
  for (const change of changes) requireAllowed(change, optionsOf(change));
  const backups: (string | undefined)[] = [];
  for (const change of changes) backups.push(await writeChange(change, optionsOf(change)));
  return backups;
}

function clientOf(name: string): Client {
  const known = CLIENT_NAMES.find((each) => each === name);
  if (known !== undefined) return CLIENTS[known];
  throw unknownName('client', name, CLIENT_NAMES);
}

function scopeOf(client: Client, wanted = 'user'): Scope {
  const scopes = Object.keys(client.places) as Scope[];
  const scope = scopes.find((each) => each === wanted);
  if (scope !== undefined) return scope;
  throw invalid(`--scope: ${client.title} has no scope ${wanted}`, `It has ${scopes.join(' and ')}.`);
}

async function print(
  { client, scope, machine }: Target,
  entry: Record<string, unknown>,
  flags: InstallFlags,
  output: Outputs,
): Promise<number> {
  const path = placeOf(client, scope, machine);
  if (flags.json) await output.stdout.json({ path, entry });
  else await output.stdout.show(editorFor(client.format).fragment(pathOf(client), entry));
  if (!flags.json) await output.stderr.say(`hotcell: add this to ${path}`);
  return 0;
}

function namesOf({ variables, members }: Additions): string[] {
  return [...Object.keys(variables), ...Object.keys(members)];
}

/** Lines about the additions that were kept and dropped. */
function additionLines(
  scope: Scope,
  { kept, dropped }: Readonly<Record<'kept' | 'dropped', readonly string[]>>,
): string[] {
  const howTo = scope === 'project' ? ' If you trust them, keep them with --keep-env; some are never kept.' : '';
  return [
    ...(kept.length === 0 ? [] : [`Kept from the old entry: ${kept.map(shownName).join(', ')}.`]),
    ...(dropped.length === 0 ? [] : [`Dropped from the old entry: ${dropped.map(shownName).join(', ')}.${howTo}`]),
  ];
}

async function showChanges(
  changes: readonly Change[],
  backups: readonly (string | undefined)[],
  { stdout: { say, paint } }: Outputs,
): Promise<void> {
  for (const [at, change] of changes.entries()) {
    if (change.before === change.after) continue;
    for (const line of diffText(change).trimEnd().split('\n')) await say(paintedLine(line, paint));
    if (backups[at] !== undefined) await say(`Backup: ${backups[at]}`);
  }
}

function paintedLine(line: string, paint: Paint): string {
  if (/^(\+\+\+|---|@@|\\)/.test(line)) return paint('dim', line);
  if (line.startsWith('+')) return paint('green', line);
  return line.startsWith('-') ? paint('red', line) : line;
}

function asJson(changes: readonly Change[], backups: readonly (string | undefined)[]) {
  return changes.map((change, at) => ({
    path: change.path,
    change: kindOf(change),
    ...(change.before === change.after ? {} : { diff: diffText(change) }),
    ...(backups[at] === undefined ? {} : { backup: backups[at] }),
  }));
}

function kindOf({ before, after }: Change): 'none' | 'created' | 'removed' | 'changed' {
  if (before === after) return 'none';
  if (before === undefined) return 'created';
  return after === undefined ? 'removed' : 'changed';
}

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
