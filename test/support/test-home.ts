import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { resolveDataDir } from '../../src/config/load.ts';
import { guestFolderIn } from '../../src/drivers/process/jail-layout.ts';
import { findOwn } from '../../src/drivers/process/python-environment.ts';

/**
 * A data folder of a test's own, with the Python environment of the machine: making one takes a minute. It begins with a copy of the compiled guest, where
 * the machine has one: each server would take a third of a second of a processor to compile it.
 */
export function newTestHome(machines: string = resolveDataDir()): string {
  const home = mkdtempSync(join(tmpdir(), 'hc-'));
  chmodSync(home, 0o711); // the jail's user must be able to pass
  symlinkSync(join(machines, 'python'), join(home, 'python'));
  const compiled = compiledGuest(machines);
  if (compiled !== undefined) {
    mkdirSync(join(home, 'guest'));
    copyFolder(compiled, join(home, 'guest', basename(compiled)));
  }
  return home;
}

const found = new Map<string, string>();

/** A worker asks once: to find the name takes a look at each of the guest's files. */
function compiledGuest(machines: string): string | undefined {
  const known = found.get(machines);
  if (known !== undefined) return known;
  const python = findOwn(machines)?.python;
  if (python === undefined) return undefined;
  const folder = guestFolderIn(machines, python);
  if (!existsSync(folder)) return undefined;
  found.set(machines, folder);
  return folder;
}

function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  chmodSync(to, 0o755);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target);
    else copyFileSync(source, target);
  }
}
