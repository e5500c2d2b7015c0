import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readConfigFile } from '../../config/config-file.ts';
import { foundInstallation } from '../../lib/installation.ts';
import { DATA_PARTS, type DataPart, sizeOf } from '../data-folder.ts';
import { isKnownAdditionsFile } from '../install/known-additions.ts';
import { isOwnEntry } from './own-entry.ts';

/** A part of the data folder that Hotcell wrote. */
export interface OwnPart extends DataPart {
  /** Names of the entries of a folder that are removed. Absent for a file. */
  readonly entries?: readonly string[];
}

/** The content of a data folder, divided by who wrote it. */
export interface OwnData {
  readonly path: string;
  /** Whether a Hotcell has used the folder. Without its file `installation`, nothing in it counts as Hotcell's. */
  readonly isInstalled: boolean;
  readonly sizeBytes: number;
  /** Parts that Hotcell wrote, largest first. */
  readonly parts: readonly OwnPart[];
  /** Relative paths of entries with the name of a part, or in a part, that Hotcell did not write. They stay. */
  readonly kept: readonly string[];
}

/**
 * Finds what Hotcell wrote to its data folder. HOTCELL_HOME may name a folder with other files, even the home folder,
 * with a `bin` and a `logs` of the user. So a folder counts by the names of its entries, which are hashes and ids, and
 * a file or an entry with a common name by its content. An empty object may be of any program.
 */
export function findOwnData(path: string): OwnData {
  const isInstalled = foundInstallation(path) !== undefined;
  const found = Object.keys(DATA_PARTS).flatMap((name) => foundPart(path, name));
  const parts = found.flatMap(({ part }) => (isInstalled && part !== undefined ? [part] : []));
  return {
    path,
    isInstalled,
    sizeBytes: parts.reduce((total, { sizeBytes }) => total + sizeBytes, 0),
    parts: parts.toSorted((one, other) => other.sizeBytes - one.sizeBytes),
    kept: found.flatMap(({ name, kept }) => (isInstalled ? kept : [name])),
  };
}

interface FoundPart {
  readonly name: string;
  readonly part?: OwnPart;
  readonly kept: readonly string[];
}

function foundPart(dataDir: string, name: string): FoundPart[] {
  const path = join(dataDir, name);
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return [];
  const { purpose, entries: own } = DATA_PARTS[name]!;
  if (own === undefined) {
    const isOwn = status.isFile() && isOwnFile(dataDir, name);
    return [isOwn ? { name, part: { name, purpose, sizeBytes: sizeOf(path) }, kept: [] } : { name, kept: [name] }];
  }
  if (!status.isDirectory()) return [{ name, kept: [name] }];
  const all = readdirSync(path);
  const entries = all.filter((entry) => own.test(entry) && isOwnEntry(dataDir, name, entry));
  const kept = all.filter((entry) => !entries.includes(entry)).map((entry) => join(name, entry));
  // An empty folder is removed too; a folder with entries of others only is not Hotcell's.
  if (entries.length === 0 && kept.length > 0) return [{ name, kept }];
  const seen = new Set<string>();
  const sizeBytes = entries.reduce((total, entry) => total + sizeOf(join(path, entry), seen), 0);
  return [{ name, part: { name, purpose, sizeBytes, entries }, kept }];
}

function isOwnFile(dataDir: string, name: string): boolean {
  const path = join(dataDir, name);
  if (name === 'installation') return foundInstallation(dataDir) !== undefined;
  if (name === 'link-key') return lstatSync(path).size === 32;
  if (name === 'installed.json') return isKnownAdditionsFile(path);
  try {
    const { options = {}, profiles = {} } = readConfigFile(path) ?? {};
    return Object.keys(options).length + Object.keys(profiles).length > 0;
  } catch {
    return false; // a configuration of another program
  }
}
