import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VmFailure } from './failures.mjs';

/**
 * Boots the machine and waits until it has powered off.
 *
 * @returns {Promise<number>} the exit code of the command that ran inside
 */
export async function bootMachine({ image, treeArchive, workFolder, timeoutMs, onOutput, signal }) {
  const files = { console: join(workFolder, 'console.log'), exitCode: join(workFolder, 'exit-code') };
  const deadline = AbortSignal.timeout(timeoutMs);
  let lastOutput = '';

  const qemuSaid = await runQemu(qemuArguments({ image, treeArchive, files }), {
    signal: AbortSignal.any([signal, deadline]),
    onOutput(chunk) {
      lastOutput = (lastOutput + chunk).slice(-2000);
      onOutput(chunk);
    },
  });
  signal.throwIfAborted();

  const consoleTail = (await readOrEmpty(files.console)).slice(-3000);
  const seen = `--- the command's last output\n${lastOutput}\n--- the machine's console\n${consoleTail}\n${qemuSaid}`;
  // A code that was reported counts even where the deadline struck between the report and the power-off.
  const exitCode = /^(\d+)\s*$/.exec(await readOrEmpty(files.exitCode))?.[1];
  if (exitCode !== undefined) return Number(exitCode);
  if (deadline.aborted) throw new VmFailure(`no end after ${timeoutMs / 1000} s, so the machine was killed`, seen, 124);
  throw new VmFailure('the machine stopped without reporting an exit code', seen);
}

/** Three serial ports, so that nothing has to be told apart: the kernel's console, the command's output, its exit code. */
export function qemuArguments({ image, treeArchive, files, accelerator = 'tcg,thread=multi' }) {
  const kernelOptions = [
    'root=/dev/nvme0n1 rw rootfstype=ext4 rootwait init=/vm-init',
    'console=ttyS0 panic=-1',
    // Time under emulation goes into every instruction: no mitigations, no waiting for entropy or calibrated clocks.
    'mitigations=off random.trust_cpu=on tsc=reliable no_timer_check',
    // cgroup v1 must not exist: what is proved here is how hosts with v2 alone behave.
    'cgroup_no_v1=all',
  ];
  return [
    ...['-machine', 'q35', '-accel', accelerator, '-cpu', 'max', '-smp', '2', '-m', '2048'],
    ...['-no-user-config', '-nodefaults', '-display', 'none', '-no-reboot'],
    ...['-kernel', image.kernel, '-append', kernelOptions.join(' ')],
    // snapshot=on: writes go to an unlinked temporary file, so the cached image stays as built and runs may overlap.
    ...['-drive', `if=none,id=root,format=raw,snapshot=on,file=${driveFile(image.rootfs)}`],
    ...['-drive', `if=none,id=tree,format=raw,snapshot=on,file=${driveFile(treeArchive)}`],
    // One controller with two namespaces: with two controllers the names would depend on which is probed first.
    ...['-device', 'nvme,id=nvme0,serial=hotcell'],
    ...['-device', 'nvme-ns,bus=nvme0,drive=root,nsid=1', '-device', 'nvme-ns,bus=nvme0,drive=tree,nsid=2'],
    ...['-serial', `file:${files.console}`],
    ...['-chardev', 'stdio,id=output,signal=off', '-serial', 'chardev:output'],
    ...['-serial', `file:${files.exitCode}`],
  ];
}

function driveFile(path) {
  return path.replaceAll(',', ',,');
}

/** @returns {Promise<string>} what QEMU itself complained about */
function runQemu(args, { signal, onOutput }) {
  return new Promise((resolve, reject) => {
    // The kernel kills QEMU with its parent: a harness that is killed by SIGKILL leaves no machine running.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    });
    let complaints = '';
    child.stdout.setEncoding('utf8').on('data', onOutput);
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      complaints = (complaints + chunk).slice(-2000);
    });
    child.on('error', (error) => {
      if (error.name !== 'AbortError') reject(error);
    });
    child.on('close', () => resolve(complaints));
  });
}

function readOrEmpty(path) {
  return readFile(path, 'utf8').catch(() => '');
}
