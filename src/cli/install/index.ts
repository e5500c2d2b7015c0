import { loadConfig, resolveDataDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { packageRoot } from '../../lib/package-root.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { type Outputs, standardOutputs } from '../output.ts';
import { shownName } from '../print.ts';
import { argumentsOf, optionsFromFlags, type ServerFlags } from '../server-flags.ts';
import { unknownName } from '../unknown-name.ts';
import { type Additions, KEEP_ALL } from './additions.ts';
import { installChanges, pathOf, placeOf, type Target } from './changes.ts';
import { CLIENT_NAMES, CLIENTS, type Client, entryFor, type Scope } from './clients.ts';
import { editorFor } from './config-editor.ts';
import { conflicts } from './conflicts.ts';
import { openKnownAdditions } from './known-additions.ts';
import { launchOf } from './launch.ts';
import { type Machine, thisMachine } from './machine.ts';
import { serverEntry } from './server-entry.ts';
import { type UndoFlags, undo } from './undo.ts';
import { diskFiles } from './write-change.ts';
import { changesAsJson, hasChange, showChanges, writeAll, writeOptions } from './written-changes.ts';

/** The flags as typed: those of this command, and those of `hotcell mcp`, which go into the entry. */
export interface InstallFlags extends ServerFlags, UndoFlags {
  readonly scope?: string;
  readonly rules?: boolean;
  /** Whether to keep the additions of a project's file, which the user has read. */
  readonly keepEnv?: boolean;
  readonly print?: boolean;
  readonly undo?: boolean;
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
  if (flags.restore && !flags.undo) throw invalid('--restore is for --undo', 'Add --undo, or leave out --restore.');
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
    await output.stdout.json({ client: name, scope, ...stays, changes: changesAsJson(changes, backups) });
    return 0;
  }
  const { say } = output.stdout;
  await showChanges(changes, backups, output);
  for (const line of additionLines(scope, stays)) await say(line);
  const isChanged = hasChange(changes);
  if (isReplaced) {
    const how = scope === 'user' ? 'brings it back' : 'shows it, and asks whether to put it back';
    await say(`Replaced another entry named hotcell; hotcell install --undo ${how}.`);
  }
  await say(isChanged ? client.afterwards : 'Nothing to change: already installed.');
  for (const warning of [isChanged ? launch.warning : undefined, ...conflicts(name, machine)])
    if (warning !== undefined) await say(warning);
  return 0;
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

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
