import { spawn } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CGROUP_ROOT = '/sys/fs/cgroup';

/** An unprivileged user that owns nothing on this machine. */
export const UNPRIVILEGED_UID = 61000;

/** Makes a cgroup, runs `work` with its path, kills what is left in it and removes it. */
export async function withCgroup(name, limits, work) {
  const path = join(CGROUP_ROOT, name);
  mkdirSync(path);
  try {
    for (const [file, value] of Object.entries(limits)) writeFileSync(join(path, file), String(value));
    return await work(path);
  } finally {
    await removeCgroup(path);
  }
}

/**
 * A subtree as systemd's `Delegate=yes` leaves it: the user owns the folder and the three files that move processes and
 * switch controllers, but not the limits of the subtree itself. `self` is where the user's own process starts, because
 * a cgroup that hands controllers on may hold no process (except the root).
 */
export async function withDelegatedSubtree(uid, work) {
  return withCgroup('delegated', {}, async (path) => {
    for (const file of ['', 'cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control']) {
      chownSync(join(path, file), uid, uid);
    }
    const self = join(path, 'self');
    mkdirSync(self);
    for (const file of ['', 'cgroup.procs', 'cgroup.threads']) chownSync(join(self, file), uid, uid);
    try {
      return await work({ path, self });
    } finally {
      await removeCgroup(self);
    }
  });
}

/**
 * Runs a program that is a member of the cgroup from its first instruction, and waits for its end.
 *
 * @returns {Promise<{ exitCode: number | null, signal: string | null, stdout: string, stderr: string }>}
 */
export function runInside(cgroup, argv, { uid, timeoutMs = 60_000 } = {}) {
  const user = uid === undefined ? [] : asUser(uid);
  return run(['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', cgroup, ...user, ...argv], { timeoutMs });
}

/** What puts a command under another user, with no supplementary group; the change of uid drops every capability. */
export function asUser(uid) {
  return ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'];
}

export function run([command, ...args], { timeoutMs = 60_000, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      ...options,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }));
  });
}

/** A file of `key value` lines, such as memory.events and cpu.stat. */
export function readCounters(cgroup, file) {
  const lines = readFileSync(join(cgroup, file), 'utf8').trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(' ')).map(([key, value]) => [key, Number(value)]));
}

/** With the groups that a program made below it. */
async function removeCgroup(path) {
  writeFileSync(join(path, 'cgroup.kill'), '1');
  // The kernel has no blocking wait for an empty cgroup; a killed process leaves it within a few ticks.
  const deadline = performance.now() + 5_000;
  while (readCounters(path, 'cgroup.events').populated === 1) {
    if (performance.now() > deadline) throw new Error(`${path} still holds processes 5 s after they were killed`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  removeEmpty(path);
}

function removeEmpty(path) {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmpty(join(path, entry.name));
  }
  rmdirSync(path);
}
