import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { unzipSync } from 'fflate';
import { uvRequirementsFile } from '../../drivers/python-packages.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { makeOwnFolder } from '../../lib/own-folder.ts';
import { projectFile } from '../../registries/project-file.ts';
import { hostReaching } from '../../registries/reaching.ts';
import type { Registries } from '../../registries/registries.ts';
import { keepTool, type Tool } from './kept-tool.ts';

/** The system that a program runs on, as a base describes it. */
export interface ToolPlatform {
  readonly machine: string;
  readonly libc: string;
}

const LARGEST_WHEEL_BYTES = 100_000_000;
const FETCH_MS = 120_000;

/**
 * The locked uv for a builder, as a layer with `bin/uv`. It is fetched once from this host's registries, into the data folder. It is neither in images nor in the
 * Python environment, so that any image can be built for, and no session finds it.
 */
export async function uvTool(
  root: string,
  platform: ToolPlatform,
  registries: Registries,
  signal?: AbortSignal,
): Promise<Tool> {
  const { version, hashes } = parseUvLock(readFileSync(uvRequirementsFile(), 'utf8'));
  const isMusl = !platform.libc.startsWith('glibc');
  const name = `uv-${version}-${isMusl ? 'musl' : 'glibc'}-${platform.machine.replace(/[^\w]/g, '_')}`;
  return keepTool(root, name, async (tree) => {
    const settings = await registries.python(signal);
    const limit = AbortSignal.timeout(FETCH_MS);
    const wheel = await projectFile(
      settings,
      {
        project: 'uv',
        isNamed: (file) => isWheelFor(file, version, { ...platform, isMusl }),
        isIt: (content) => hashes.has(createHash('sha256').update(content).digest('hex')),
        mostBytes: LARGEST_WHEEL_BYTES,
      },
      await hostReaching(settings),
      signal === undefined ? limit : AbortSignal.any([limit, signal]),
    );
    const program =
      wheel && Object.entries(unzipSync(wheel, { filter: ({ name }) => name.endsWith('/scripts/uv') }))[0]?.[1];
    if (program === undefined) throw missing(version, platform);
    makeOwnFolder(join(tree, 'bin'), 0o755);
    const path = join(tree, 'bin', 'uv');
    await writeFile(path, program, { mode: 0o600 });
    await chmod(path, 0o555);
  });
}

/** Reads `images/python/uv.txt`: one version, and the hashes of its files for all systems. */
export function parseUvLock(text: string): { version: string; hashes: ReadonlySet<string> } {
  const [, version = ''] = /^uv==(\S+)/m.exec(text) ?? [];
  return { version, hashes: new Set([...text.matchAll(/--hash=sha256:([0-9a-f]{64})/g)].map(([, hash]) => hash!)) };
}

/** Whether a file is the wheel for a system: `uv-1.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl`. */
export function isWheelFor(
  file: string,
  version: string,
  { machine, isMusl }: { machine: string; isMusl: boolean },
): boolean {
  if (!file.startsWith(`uv-${version}-`) || !file.endsWith('.whl')) return false;
  const tags = file.slice(0, -'.whl'.length).split('-').at(-1)!.split('.');
  return tags.some((tag) => tag.startsWith(isMusl ? 'musllinux' : 'manylinux') && tag.endsWith(`_${machine}`));
}

function missing(version: string, { machine }: ToolPlatform): HotcellError {
  return new HotcellError(
    'install_failed',
    `uv ${version} for ${machine} is in none of the package indexes of this host`,
    {
      remedy:
        'Check that pip on this host reaches its index: pip download uv. A folder with the wheel of uv in find-links serves, too.',
    },
  );
}
