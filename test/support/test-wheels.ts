import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { createRegistries, type Registries } from '../../src/registries/registries.ts';

export interface TestWheel {
  readonly name: string;
  readonly version: string;
  readonly needs?: readonly string[];
}

/** A folder of wheels, each a module that says its version, and registries that find them there. */
export function createTestWheels(wheels: readonly TestWheel[]): { registries: Registries; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-wheels-'));
  chmodSync(folder, 0o755); // a sandbox has another user
  for (const wheel of wheels) writeFileSync(join(folder, fileName(wheel)), wheelOf(wheel));
  const own = createRegistries();
  return {
    registries: {
      ...own,
      // Beside the host's own, which the builders' uv comes from.
      python: async (signal) => ({ ...(await own.python(signal)), findLinks: [{ folder }] }),
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The bytes of one, for a workspace. */
export function wheelOf({ name, version, needs = [] }: TestWheel): Uint8Array {
  const module = name.replaceAll('-', '_');
  const info = `${module}-${version}.dist-info`;
  const files: Record<string, string> = {
    [`${module}.py`]: `version = "${version}"\n`,
    [`${info}/METADATA`]: [
      'Metadata-Version: 2.1',
      `Name: ${name}`,
      `Version: ${version}`,
      ...needs.map((need) => `Requires-Dist: ${need}`),
      '',
    ].join('\n'),
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  const record = [...Object.keys(files), `${info}/RECORD`].map((path) => `${path},,\n`).join('');
  const all = { ...files, [`${info}/RECORD`]: record };
  return zipSync(Object.fromEntries(Object.entries(all).map(([path, text]) => [path, strToU8(text)])));
}

export function fileName({ name, version }: TestWheel): string {
  return `${name.replaceAll('-', '_')}-${version}-py3-none-any.whl`;
}
