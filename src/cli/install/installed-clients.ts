import { type Change, type Target, undoChanges } from './changes.ts';
import { CLIENT_NAMES, CLIENTS, type ClientName } from './clients.ts';
import type { Machine } from './machine.ts';
import { diskFiles, writeChange } from './write-change.ts';

/** A client whose user configuration has an entry or rules of Hotcell. */
export interface InstalledClient {
  readonly name: ClientName;
  readonly title: string;
  /** The changes that remove them. */
  readonly changes: readonly Change[];
}

/** The clients that Hotcell is installed in for the user. A file that cannot be parsed cannot have been written by Hotcell. */
export function installedClients(machine: Machine): InstalledClient[] {
  return CLIENT_NAMES.flatMap((name) => {
    const client = CLIENTS[name];
    const changes = changesFor({ client, scope: 'user', machine });
    return changes.length === 0 ? [] : [{ name, title: client.title, changes }];
  });
}

export async function removeFromClient({ changes }: InstalledClient): Promise<void> {
  for (const change of changes) await writeChange(change, { newFileMode: 0o600, backup: 'remove' });
}

function changesFor(target: Target): Change[] {
  try {
    return undoChanges(target, diskFiles).filter(({ before, after }) => before !== after);
  } catch {
    return [];
  }
}
