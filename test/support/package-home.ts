import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { resolveDataDir } from '../../src/config/load.ts';
import { packagesFolder } from '../../src/packages/open-installer.ts';
import { npmTool } from '../../src/packages/tools/npm-tool.ts';
import { uvTool } from '../../src/packages/tools/uv-tool.ts';
import { createRegistries } from '../../src/registries/registries.ts';
import { newTestHome } from './test-home.ts';

/**
 * A data folder with a store of packages of its own, and with the machine's uv and npm for builders: they are fetched once, from the registries of the machine,
 * as `hotcell setup` does.
 */
export async function packageHome(): Promise<{ readonly home: string } & Disposable> {
  const home = newTestHome();
  await giveTools(home);
  return { home, [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }) };
}

/** Gives a data folder the machine's tools for builders. */
export async function giveTools(home: string): Promise<void> {
  const machines = packagesFolder(resolveDataDir());
  const registries = createRegistries();
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  await Promise.all([uvTool(machines, { machine, libc: 'glibc' }, registries), npmTool(machines, registries)]);
  mkdirSync(packagesFolder(home), { mode: 0o700 });
  symlinkSync(join(machines, 'tools'), join(packagesFolder(home), 'tools'));
}
