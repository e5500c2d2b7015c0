#!/usr/bin/env node
import { accessSync, constants } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CannotRun, VmFailure } from './failures.mjs';
import { ensureImage } from './image.mjs';
import { bootMachine } from './machine.mjs';
import { packTree } from './tree-archive.mjs';
import { openWorkFolder } from './work-folder.mjs';

const USAGE = 'Usage: node test/vm/run.mjs [--keep] [-- command…]    (default command: node test/vm/inside.mjs)';

/**
 * Runs a command on a machine of its own that has cgroup v2 and nothing else: Debian's kernel, emulated by QEMU, as root,
 * in a copy of this working tree. Its output goes to `onOutput` as it comes.
 *
 * @returns {Promise<number>} the command's exit code; a failure of the harness itself rejects with a `VmFailure`
 */
export async function runInVm({
  command = ['node', 'test/vm/inside.mjs'],
  keep = false,
  timeoutMs = 10 * 60_000,
  onOutput = (chunk) => process.stdout.write(chunk),
  say = (line) => process.stderr.write(`vm: ${line}\n`),
  signal = new AbortController().signal,
} = {}) {
  refuseHost();
  const repository = resolve(fileURLToPath(import.meta.url), '../../..');
  const cacheFolder = resolve(process.env.HOTCELL_VM_CACHE || join(repository, '.hotcell/vm'));

  const folder = await openWorkFolder(cacheFolder, { keep });
  try {
    const image = await ensureImage({ cacheFolder, say, signal });
    const treeArchive = await packTree({ repository, command, workFolder: folder.path, signal });
    const startedAt = performance.now();
    say(`booting, then ${command.join(' ')}`);
    const exitCode = await bootMachine({ image, treeArchive, workFolder: folder.path, timeoutMs, onOutput, signal });
    say(`exit code ${exitCode} after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    return exitCode;
  } finally {
    await folder[Symbol.asyncDispose]();
    if (keep) say(`kept ${folder.path} until the next run (console.log, tree.tar)`);
  }
}

function refuseHost() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new VmFailure('the virtual machine needs a Linux host on x86-64', '', 2);
  }
  const missing = ['qemu-system-x86_64', 'mmdebstrap', 'mke2fs', 'setpriv', 'unshare', 'tar'].filter(
    (name) => !onPath(name),
  );
  if (missing.length > 0) throw new CannotRun(missing);
}

function onPath(program) {
  // mke2fs lives in /usr/sbin, which is not on every user's path.
  return [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

async function main() {
  const options = { keep: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help) return console.log(USAGE);

  const interrupted = new AbortController();
  const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
  for (const [name, exitCode] of Object.entries(exitCodes)) {
    process.once(name, () => {
      process.exitCode = exitCode;
      interrupted.abort();
    });
  }
  const command = positionals.length > 0 ? positionals : undefined;
  try {
    process.exitCode = await runInVm({ command, keep: values.keep, signal: interrupted.signal });
  } catch (error) {
    if (interrupted.signal.aborted) return;
    if (!(error instanceof VmFailure)) throw error;
    console.error(`vm: ${error.message}${error.seen && `\n${error.seen.trimEnd()}`}`);
    process.exitCode = error.exitCode;
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
