import type { Outputs } from '../output.ts';
import type { Paint } from '../print.ts';
import { type Change, diffText, type Target } from './changes.ts';
import { requireAllowed, type WriteOptions, writeChange } from './write-change.ts';

/** Writes all changes, or none if one is not allowed. Returns the paths of the backups that were written or stay. */
export async function writeAll(
  changes: readonly Change[],
  optionsOf: (change: Change) => WriteOptions,
): Promise<(string | undefined)[]> {
  for (const change of changes) requireAllowed(change, optionsOf(change));
  const backups: (string | undefined)[] = [];
  for (const change of changes) backups.push(await writeChange(change, optionsOf(change)));
  return backups;
}

export function writeOptions({ scope, machine }: Target): WriteOptions {
  return scope === 'user' ? { newFileMode: 0o600 } : { newFileMode: 0o644, folder: machine.folder };
}

export async function showChanges(
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

export function changesAsJson(changes: readonly Change[], backups: readonly (string | undefined)[]) {
  return changes.map((change, at) => ({
    path: change.path,
    change: kindOf(change),
    ...(change.before === change.after ? {} : { diff: diffText(change) }),
    ...(backups[at] === undefined ? {} : { backup: backups[at] }),
  }));
}

export function hasChange(changes: readonly Change[]): boolean {
  return changes.some(({ before, after }) => before !== after);
}

function paintedLine(line: string, paint: Paint): string {
  if (/^(\+\+\+|---|@@|\\)/.test(line)) return paint('dim', line);
  if (line.startsWith('+')) return paint('green', line);
  return line.startsWith('-') ? paint('red', line) : line;
}

function kindOf({ before, after }: Change): 'none' | 'created' | 'removed' | 'changed' {
  if (before === after) return 'none';
  if (before === undefined) return 'created';
  return after === undefined ? 'removed' : 'changed';
}
