import { confirm } from '../confirm.ts';
import type { Outputs } from '../output.ts';
import { type FileReader, placeOf, replacedEntry, type Target, undoChanges } from './changes.ts';
import { backupOf, diskFiles } from './write-change.ts';
import { changesAsJson, hasChange, showChanges, writeAll, writeOptions } from './written-changes.ts';

export interface UndoFlags {
  /** Whether an entry of the project that was replaced comes back without a question. */
  readonly restore?: boolean;
  /** Whether nothing is asked. Alone, it leaves such an entry out. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Removes Hotcell from a client's configuration, and shows the change. Returns the exit code. */
export async function undo(name: string, target: Target, flags: UndoFlags, output: Outputs): Promise<number> {
  // SECURITY: read once, so that what the user was shown is what is put back, whatever the project does meanwhile.
  const files = readOnce(diskFiles);
  const left = undoChanges(target, files);
  const replaced = entryInQuestion(target, files, { isLeft: left.some(({ needsBackup }) => needsBackup), ...flags });
  if (replaced !== undefined && !flags.json) await showReplaced(replaced, output);
  const restore = flags.restore === true || (replaced !== undefined && (await isWanted(replaced, flags, output)));
  const changes = restore ? undoChanges(target, files, { restore }) : left;
  const where = writeOptions(target);
  const backups = await writeAll(changes, ({ needsBackup }) => ({ ...where, backup: needsBackup ? 'keep' : 'remove' }));
  if (flags.json) {
    const entry = replaced === undefined ? {} : { replaced: { entry: replaced, restored: restore } };
    await output.stdout.json({
      client: name,
      scope: target.scope,
      ...entry,
      changes: changesAsJson(changes, backups),
    });
    return 0;
  }
  await showChanges(changes, backups, output);
  for (const line of summary()) await output.stdout.say(line);
  return 0;

  function summary(): string[] {
    const path = placeOf(target.client, target.scope, target.machine);
    const isPutBack = restore && hasChange(changes);
    const foreign = changes.some(({ isForeign }) => isForeign);
    return [
      ...(hasChange(left) ? [`Removed Hotcell from the configuration of ${target.client.title}.`] : []),
      ...(foreign ? [`The entry named hotcell in ${path} does not start Hotcell. It stays as it is.`] : []),
      ...(replaced !== undefined && isPutBack ? ['Put back the entry that was replaced.'] : []),
      ...(replaced !== undefined && !restore
        ? [
            `Not put back: the entry that was replaced. It is in ${backupOf(path)}. If you know it, run: hotcell install ${name} --scope project --undo --restore`,
          ]
        : []),
      ...(hasChange(left) || foreign || isPutBack ? [] : ['Nothing to undo: Hotcell is not installed there.']),
    ];
  }
}

/** The entry of a project that this undo puts back or leaves out. For the user's own scope there is no question. */
function entryInQuestion(
  target: Target,
  files: FileReader,
  { isLeft, restore }: UndoFlags & { isLeft: boolean },
): string | undefined {
  return target.scope === 'project' && (isLeft || restore === true) ? replacedEntry(target, files) : undefined;
}

const MOST_LINES = 40;
const MOST_CHARACTERS = 4_000;

/**
 * SECURITY: every line of the entry has a mark before it, because a project can write lines in it that look like
 * Hotcell's.
 */
async function showReplaced(entry: string, { stdout: { say, paint } }: Outputs): Promise<void> {
  const lines = entry.slice(0, MOST_CHARACTERS).split(/\r\n|\n|\r/);
  await say('The project had another entry named hotcell, which the installation replaced:');
  for (const line of lines.slice(0, MOST_LINES)) await say(`  ${paint('dim', '|')} ${line}`);
  if (!isShownWhole(entry)) await say(`  … (${entry.length.toLocaleString('en')} characters in all)`);
  await say(
    'Take care: its command comes from the files of the project. A client in which you have approved hotcell here may run it without asking you again.',
  );
}

/** Asks at a terminal. Elsewhere, and for an entry that is too long to be shown whole, the answer is no. */
async function isWanted(entry: string, { yes, json }: UndoFlags, { stdout, stderr }: Outputs): Promise<boolean> {
  if (yes || json || !isShownWhole(entry)) return false;
  if (!stdout.isTTY || !stderr.isTTY || !process.stdin.isTTY) return false;
  return confirm('Put this entry back?');
}

function isShownWhole(entry: string): boolean {
  return entry.length <= MOST_CHARACTERS && entry.split(/\r\n|\n|\r/).length <= MOST_LINES;
}

/** A reader that gives the same text for a path every time. */
function readOnce({ text, backup }: FileReader): FileReader {
  return { text: remembered(text), backup: remembered(backup) };
}

function remembered<Value>(read: (path: string) => Value): (path: string) => Value {
  const known = new Map<string, Value>();
  return (path) => {
    if (!known.has(path)) known.set(path, read(path));
    return known.get(path) as Value;
  };
}
