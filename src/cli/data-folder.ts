import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A part of the data folder. */
export interface PartKind {
  readonly purpose: string;
  /** Names of the entries that Hotcell writes to a folder. Absent for a file. */
  readonly entries?: RegExp;
}

const HASHED = /^([0-9a-f]{16}|making-[0-9a-f]{20})$/;

/** Everything that Hotcell writes to its data folder. `data-folder.test.ts` compares it with the sources. */
export const DATA_PARTS: Readonly<Record<string, PartKind>> = {
  python: { purpose: 'the Python environment of the process driver', entries: /^[0-9a-f]{12}(\.lock[\w.-]*)?$/ },
  node: { purpose: 'Node for the process driver', entries: HASHED },
  bin: { purpose: 'gVisor', entries: /^runsc(\.hotcell)?$/ },
  guest: { purpose: "Hotcell's code for sandboxes", entries: HASHED },
  'guest-code': {
    purpose: "byte code of Hotcell's code for sandboxes",
    entries: /^([0-9a-f]{32}|making-[0-9a-f]{20})$/,
  },
  etc: { purpose: 'system files of sandboxes', entries: HASHED },
  covers: { purpose: 'empty files that cover others in sandboxes', entries: /^(1|making-[0-9a-f]{20})$/ },
  audit: { purpose: 'the audit log', entries: /^audit(\.\d+)?\.jsonl(\.lock[\w.-]*)?$/ },
  logs: { purpose: 'logs of executions', entries: /^[0-9a-f]{12}$/ },
  packages: { purpose: 'installed packages', entries: /^([0-9a-f]{32}|tools|bases)$/ },
  layers: { purpose: 'packages that sandboxes see', entries: /^([0-9a-f]{12}|kept)$/ },
  history: { purpose: 'history of the REPL', entries: /^[\w+-]+\.jsonl(\.\d+)?$/ },
  persistent: { purpose: 'records of persistent sessions', entries: /^s-[0-9a-f]+\.[0-9a-f]+\.json(\.new)?$/ },
  tokens: { purpose: 'hashes of tokens', entries: /^t-[0-9a-f]{20}\.(json|used)(\.new)?$/ },
  servers: { purpose: 'running servers', entries: /^[0-9a-f]{12}(\.new)?$/ },
  mounts: { purpose: 'mounts of running servers', entries: /^([0-9a-f]{12}|ended)$/ },
  run: { purpose: 'sockets of running servers', entries: /^[0-9a-f]{12}(\.lock(\.new)?)?$/ },
  'link-key': { purpose: 'the key that signs links' },
  'installed.json': { purpose: 'additions that you allowed with --keep-env' },
  'config.json': { purpose: 'your configuration' },
  installation: { purpose: 'the id of this installation' },
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
    .map(([name, { purpose }]) => ({ name, purpose, sizeBytes: sizeOf(join(dataDir, name)) }))
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
