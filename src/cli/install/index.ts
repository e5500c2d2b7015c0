import { join } from 'node:path';
import { loadConfig, resolveDataDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { packageRoot } from '../../lib/package-root.ts';
import { type Outputs, standardOutputs } from '../output.ts';
import { type Paint, shownName } from '../print.ts';
import { profileOption } from '../profile-flag.ts';
import { isolationRequest } from '../run/options.ts';
import { type Additions, KEEP_ALL } from './additions.ts';
import { type Change, diffText, installChanges, pathOf, placeOf, type Target, undoChanges } from './changes.ts';
import { CLIENT_NAMES, CLIENTS, type Client, entryFor, type Scope } from './clients.ts';
import { editorFor } from './config-editor.ts';
import { openKnownAdditions } from './known-additions.ts';
import { type Machine, thisMachine } from './machine.ts';
import { serverEntry } from './server-entry.ts';
import { backupOf, diskFiles, requireAllowed, type WriteOptions, writeChange } from './write-change.ts';

/** The flags as typed. */
export interface InstallFlags {
  readonly scope?: string;
  readonly profile?: string;
  readonly isolation?: string;
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
  const entry = serverEntry(machine, process.execPath, join(packageRoot(), 'dist', 'cli.js'), wishesOf(flags));
  const target = { client, scope, machine };
  if (flags.print) return print(target, entryFor(client, entry), flags, output);
  const known = openKnownAdditions(resolveDataDir(machine.variables));
  const place = placeOf(client, scope, machine);
  const { changes, merged } = flags.undo
    ? { changes: undoChanges(target, diskFiles), merged: undefined }
    : installChanges(target, entry, diskFiles, {
        rules: flags.rules !== false,
        profile: profileOption(flags.profile).profile ?? ['hotcell'],
        policy: scope === 'user' || flags.keepEnv === true ? KEEP_ALL : known.policyFor(place),
      });
  const where: WriteOptions =
    scope === 'user' ? { newFileMode: 0o600 } : { newFileMode: 0o644, folder: machine.folder };
  for (const change of changes) requireAllowed(change, where);
  const backups: (string | undefined)[] = [];
  for (const change of changes) backups.push(await writeChange(change, where));
  if (scope === 'project' && flags.keepEnv === true && merged !== undefined) known.remember(place, merged.kept);
  const stays = merged === undefined ? {} : { kept: namesOf(merged.kept), dropped: merged.dropped };
  if (flags.json)
    await output.stdout.json({
      ...{ client: name, scope, ...stays },
      changes: changes.map((change, at) => asJson(change, backups[at])),
    });
  else await tell(client, changes, { flags, scope, ...stays }, output);
  return 0;
}

function clientOf(name: string): Client {
  const known = CLIENT_NAMES.find((each) => each === name);
  if (known !== undefined) return CLIENTS[known];
  throw invalid(`${name}: unknown client`, `Use one of ${CLIENT_NAMES.join(', ')}.`);
}

function scopeOf(client: Client, wanted = 'user'): Scope {
  const scopes = Object.keys(client.places) as Scope[];
  const scope = scopes.find((each) => each === wanted);
  if (scope !== undefined) return scope;
  throw invalid(`--scope: ${client.title} has no scope ${wanted}`, `It has ${scopes.join(' and ')}.`);
}

function wishesOf(flags: InstallFlags): { profile?: string; isolation?: string } {
  const isolation = flags.isolation === undefined ? undefined : isolationRequest(flags.isolation);
  // Refuses here, where the user sees it, a value that the server would refuse at its start.
  loadConfig({ ...profileOption(flags.profile), ...(isolation === undefined ? {} : { isolation }) });
  return {
    ...(isolation === undefined ? {} : { isolation }),
    ...(flags.profile === undefined ? {} : { profile: flags.profile }),
  };
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

interface Told {
  readonly flags: InstallFlags;
  readonly scope: Scope;
  readonly kept?: readonly string[];
  readonly dropped?: readonly string[];
}

function namesOf({ variables, members }: Additions): string[] {
  return [...Object.keys(variables), ...Object.keys(members)];
}

/** Lines about the additions that were kept and dropped. */
function additionLines(scope: Scope, kept: readonly string[], dropped: readonly string[]): string[] {
  const howTo = scope === 'project' ? ' If you trust them, keep them with --keep-env; some are never kept.' : '';
  return [
    ...(kept.length === 0 ? [] : [`Kept from the old entry: ${kept.map(shownName).join(', ')}.`]),
    ...(dropped.length === 0 ? [] : [`Dropped from the old entry: ${dropped.map(shownName).join(', ')}.${howTo}`]),
  ];
}

async function tell(
  client: Client,
  changes: readonly Change[],
  { flags, scope, kept = [], dropped = [] }: Told,
  { stdout }: Outputs,
): Promise<void> {
  const { paint, say } = stdout;
  const changed = changes.filter(({ before, after }) => before !== after);
  for (const change of changed) {
    for (const line of diffText(change).trimEnd().split('\n')) await say(paintedLine(line, paint));
    if (change.before !== undefined && change.after !== undefined) await say(`Backup: ${backupOf(change.path)}`);
  }
  for (const line of additionLines(scope, kept, dropped)) await say(line);
  if (changed.length === 0)
    await say(
      flags.undo ? 'Nothing to undo: Hotcell is not installed there.' : 'Nothing to change: already installed.',
    );
  else if (flags.undo) await say(`Removed Hotcell from the configuration of ${client.title}.`);
  else await say(client.afterwards);
  if (!flags.undo && /[\\/]_npx[\\/]/.test(packageRoot())) {
    await say(
      'This Hotcell runs from the npx cache, which npm may clear. Run: npm install -g hotcell, then install again.',
    );
  }
}

function paintedLine(line: string, paint: Paint): string {
  if (/^(\+\+\+|---|@@|\\)/.test(line)) return paint('dim', line);
  if (line.startsWith('+')) return paint('green', line);
  return line.startsWith('-') ? paint('red', line) : line;
}

function asJson(change: Change, backup: string | undefined) {
  return {
    path: change.path,
    change: kindOf(change),
    ...(change.before === change.after ? {} : { diff: diffText(change) }),
    ...(backup === undefined ? {} : { backup }),
  };
}

function kindOf({ before, after }: Change): 'none' | 'created' | 'removed' | 'changed' {
  if (before === after) return 'none';
  if (before === undefined) return 'created';
  return after === undefined ? 'removed' : 'changed';
}

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
