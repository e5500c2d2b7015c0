import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.ts';
import { LAYERS } from '../../sandbox/layers.ts';
import { bootstrapProgram } from '../bootstrap-program.ts';

/** The layer with our `pip`, `uv` and `npm`, in a sandbox whose session may install packages (guest: installer/). */
export const INSTALLER = '0000';

/** The programs in it. They are links of `bin`, and no package replaces them: ours pass on what they do not do. */
export const INSTALLER_PROGRAMS = ['pip', 'pip3', 'uv', 'npm'] as const;

/** A file of that layer, at `path` relative to it. */
export interface InstallerFile {
  readonly path: string;
  readonly text: string;
  readonly isExecutable: boolean;
}

/** Modules of the guest that the programs need. The guest's own modules are not files of every sandbox. */
const WIRE = ['__init__.py', 'call_socket.py', 'calling.py', 'frames.py'];

export function installerFiles(): InstallerFile[] {
  const guest = join(packageRoot(), 'guest', 'hotcell_guest');
  const own = readdirSync(join(guest, 'installer')).filter((name) => name.endsWith('.py'));
  const modules = ['__init__.py', ...WIRE.map((name) => `wire/${name}`), ...own.map((name) => `installer/${name}`)];
  return [
    ...INSTALLER_PROGRAMS.map((name) => ({ path: `bin/${name}`, text: program(name), isExecutable: true })),
    { path: 'installer/run.py', text: bootstrapProgram('run_installer'), isExecutable: false },
    ...modules.map((path) => ({
      path: `installer/hotcell_guest/${path}`,
      text: readFileSync(join(guest, path), 'utf8'),
      isExecutable: false,
    })),
  ];
}

/** A program that starts Python without `site`: it need not find packages, and starts in half the time. */
function program(name: string): string {
  return `#!/bin/sh\nexec python3 -IS ${LAYERS}/${INSTALLER}/installer/run.py ${name} "$@"\n`;
}

/** All folders of the files, each after the one that it is in. */
export function foldersOf(files: readonly Pick<InstallerFile, 'path'>[]): string[] {
  const folders = new Set<string>();
  for (const { path } of files) {
    const parts = path.split('/').slice(0, -1);
    for (let depth = 1; depth <= parts.length; depth += 1) folders.add(parts.slice(0, depth).join('/'));
  }
  return [...folders];
}
