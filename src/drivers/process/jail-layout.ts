import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { guestDigest } from '../../guest/guest-digest.ts';
import { guestFiles } from '../../guest/guest-files.ts';
import { runCommand } from '../../lib/run-command.ts';
import type { Host } from '../../sandbox/host.ts';
import { COVERED_BELOW_KEPT, KEPT_PROC_ENTRIES } from '../../sandbox/proc-entries.ts';
import { type SandboxSpec, WORKSPACE } from '../../sandbox/spec.ts';
import { imageFolder } from '../python-packages.ts';
import type { JailLayout } from './bwrap-arguments.ts';
import { coveringPlace } from './covered-places.ts';
import { installFolder } from './install-folder.ts';
import { findNodeRuntime } from './node-runtime.ts';
import type { PythonEnvironment } from './python-environment.ts';

/** A minimal /etc in place of the host's: users and names, and nothing that reveals the host. */
const ETC: Readonly<Record<string, string>> = {
  passwd: 'root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:1000:1000:sandbox:/tmp:/bin/bash\n',
  group: 'root:x:0:\nsandbox:x:1000:\n',
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
  hostname: 'sandbox\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\nservices: files\n',
  'resolv.conf': '',
  protocols: 'ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\n',
};

/**
 * Public certificates, the linker's index, fonts, and Debian's links of alternatives; then folders that Debian keeps
 * apart from their programs: R and Java do not start without theirs.
 */
const HOST_ETC = [
  ...['ssl/certs', 'ld.so.cache', 'alternatives', 'fonts', 'localtime', 'mime.types'],
  ...['R', 'perl', 'java-11-openjdk', 'java-17-openjdk', 'java-21-openjdk', 'java-25-openjdk'],
];

/** Prepares all files that a jail shows, where the jail's user can read them. Cheap if they exist already. */
export async function prepareJailLayout(
  { dataDir, installationId, serverId }: Host,
  environment: PythonEnvironment,
  { mounts, workspace = WORKSPACE }: Pick<SandboxSpec, 'mounts' | 'workspace'>,
  nodeProgram?: string,
): Promise<JailLayout> {
  requireUncovered(environment, workspace);
  const [guestFolder, etcFolder, coversFolder, node] = await Promise.all([
    installGuest(dataDir, environment.python),
    installEtc(dataDir),
    installCovers(dataDir),
    findNodeRuntime(dataDir, nodeProgram),
  ]);
  return {
    marker: `${installationId}-${serverId}`,
    pythonFolders: pythonFolders(environment),
    python: environment.python,
    guestFolder,
    node,
    etcFiles: Object.fromEntries([...Object.keys(ETC), 'services'].map((name) => [name, join(etcFolder, name)])),
    coveredProc: coveredProc(),
    covers: { file: join(coversFolder, 'file'), folder: join(coversFolder, 'folder') },
    hostEtc: HOST_ETC.filter((name) => existsSync(`/etc/${name}`)),
    mounts,
    workspace,
    usrMerged: Object.fromEntries(
      ['bin', 'lib', 'lib64', 'sbin']
        .filter((name) => existsSync(`/${name}`))
        .map((name) => [name, lstatSync(`/${name}`).isSymbolicLink()]),
    ),
  };
}

/**
 * All entries of /proc that are not on the list of visible ones. The jail runs on the kernel of this process, so the
 * entries are the same.
 */
function coveredProc(): JailLayout['coveredProc'] {
  const others = readdirSync('/proc', { withFileTypes: true }).filter(
    ({ name }) => !/^\d+$/.test(name) && !KEPT_PROC_ENTRIES.includes(name),
  );
  const pathsOf = (entries: typeof others) => entries.map(({ name }) => `/proc/${name}`);
  return {
    files: [
      ...pathsOf(others.filter((entry) => entry.isFile())),
      ...COVERED_BELOW_KEPT.map((name) => `/proc/${name}`).filter((path) => existsSync(path)),
    ],
    folders: pathsOf(others.filter((entry) => entry.isDirectory())),
  };
}

/** Folders of the interpreter and its packages that a jail must show in addition to /usr. */
export function pythonFolders({ prefix, basePrefix }: PythonEnvironment): string[] {
  return [...new Set([prefix, basePrefix])].filter((folder) => folder !== '/usr' && !folder.startsWith('/usr/'));
}

/** Reports the reason early; bubblewrap would only say that there is no such file. */
function requireUncovered({ python, prefix, basePrefix }: PythonEnvironment, workspace: string): void {
  const place = coveringPlace([prefix, basePrefix], workspace);
  if (place === undefined) return;
  throw new HotcellError('start_failed', `${python} is below ${place}, where a sandbox has its own folder`, {
    remedy: `Set HOTCELL_HOME to a folder outside ${place} and run \`hotcell setup process\` again.`,
  });
}

export function guestFolderIn(dataDir: string, python: string): string {
  const hash = createHash('sha256').update(guestDigest()).update(python);
  return join(dataDir, 'guest', hash.digest('hex').slice(0, 16));
}

/**
 * Copies the guest's files into the data folder, under a name with their hash, because the jail may have no access to
 * the installation.
 */
async function installGuest(dataDir: string, python: string): Promise<string> {
  return installFolder(guestFolderIn(dataDir, python), async (folder) => {
    for (const { path, content } of guestFiles()) {
      const target = join(folder, 'hotcell_guest', path);
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    // A jail cannot write byte code there, and compiling at every start would take longer than the rest of the start.
    await runCommand(python, ['-I', '-m', 'compileall', '-q', '--invalidation-mode', 'unchecked-hash', folder]);
  });
}

async function installEtc(dataDir: string): Promise<string> {
  // The names of ports, the same as in the standard image.
  const files = { ...ETC, services: readFileSync(join(imageFolder(), 'services'), 'utf8') };
  const hash = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16);
  return installFolder(join(dataDir, 'etc', hash), async (folder) => {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  });
}

function installCovers(dataDir: string): Promise<string> {
  return installFolder(join(dataDir, 'covers', '1'), async (folder) => {
    await writeFile(join(folder, 'file'), '');
    await mkdir(join(folder, 'folder'));
  });
}
