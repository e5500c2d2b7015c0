import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** Everything that Hotcell writes to its data folder, with its purpose. `data-folder.test.ts` compares it with the sources. */
export const DATA_PARTS: Readonly<Record<string, string>> = {
  python: 'the Python environment of the process driver',
  node: 'Node for the process driver',
  bin: 'gVisor',
  guest: "Hotcell's code for sandboxes",
  'guest-code': "byte code of Hotcell's code for sandboxes",
  etc: 'system files of sandboxes',
  covers: 'empty files that cover others in sandboxes',
  audit: 'the audit log',
  logs: 'logs of executions',
  history: 'history of the REPL',
  persistent: 'records of persistent sessions',
  tokens: 'hashes of tokens',
  servers: 'running servers',
  mounts: 'mounts of running servers',
  run: 'sockets of running servers',
  'link-key': 'the key that signs links',
  'installed.json': 'additions that you allowed with --keep-env',
  'config.json': 'your configuration',
  installation: 'the id of this installation',
};

export interface DataPart {
  readonly name: string;
  readonly purpose: string;
  readonly sizeBytes: number;
}

/** The parts of Hotcell's that a data folder has, largest first. Files of others in it are not listed. */
export function dataParts(dataDir: string): DataPart[] {
  return Object.entries(DATA_PARTS)
    .filter(([name]) => lstatSync(join(dataDir, name), { throwIfNoEntry: false }) !== undefined)
    .map(([name, purpose]) => ({ name, purpose, sizeBytes: sizeOf(join(dataDir, name)) }))
    .sort((a, b) => b.sizeBytes - a.sizeBytes);
}

/** Space on the disk below a path, as `du` counts it. Follows no links. What vanishes meanwhile counts as nothing. */
export function sizeOf(path: string, seen = new Set<string>()): number {
  try {
    const found = lstatSync(path);
    const id = `${found.dev}:${found.ino}`;
    if (seen.has(id)) return 0;
    seen.add(id);
    const own = (found.blocks ?? Math.ceil(found.size / 512)) * 512;
    if (!found.isDirectory()) return own;
    return readdirSync(path).reduce((total, name) => total + sizeOf(join(path, name), seen), own);
  } catch {
    return 0;
  }
}
