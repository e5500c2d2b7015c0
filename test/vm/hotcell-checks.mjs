import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { asUser, CGROUP_ROOT, run, runInside, UNPRIVILEGED_UID, withCgroup, withDelegatedSubtree } from './cgroup.mjs';

const OBSERVER = fileURLToPath(new URL('observe-hotcell.mjs', import.meta.url));
const MIB = 1024 * 1024;
const LIMIT_BYTES = 96 * MIB;
const LIMITED = ['memory', 'cpu', 'processes'];
const SLOW = { timeoutMs: 120_000 };

/** Enters a cgroup namespace and mounts its part of the tree where the whole one was: what a privileged container sees. */
const REMOUNT = 'umount "$0" && mount -t cgroup2 cgroup2 "$0" && exec "$@"';
const AS_CONTAINER = ['unshare', '--cgroup', '--mount', 'sh', '-c', REMOUNT, CGROUP_ROOT];

/**
 * That Hotcell's own limits are hard under cgroup v2, wherever in the tree it is started, and honest where they cannot be.
 *
 * @param hotcell what `dist/index.js` exports
 */
export async function hotcellChecks(check, hotcell) {
  await check('the built library loads on this machine', () => {
    assert.equal(typeof hotcell.openHotcell, 'function');
  });
  // A server mostly waits for Python: two at a time, one for each processor of the machine.
  await Promise.all([checksAsRoot(check), checksUnprivileged(check)]);
}

async function checksAsRoot(check) {
  const observe = server('/var/lib/hotcell-checks');
  await withSwap(async () => {
    await scenario(check, 'as root in the root cgroup', () => run(observe('all'), SLOW), {
      'the server stays where it is': (seen) => assert.equal(seen.serverGroup, '/'),
      ...HARD,
    });
    const inService = () => withCgroup('service', {}, (group) => runInside(group, observe('all'), SLOW));
    await scenario(check, 'as root in a group of its own, like a service', inService, {
      'the server stays where it is': (seen) => assert.equal(seen.serverGroup, '/service'),
      ...HARD,
    });
  });
  const inContainer = () =>
    withCgroup('container', {}, (group) => runInside(group, [...AS_CONTAINER, ...observe('brief')], SLOW));
  await scenario(check, 'as root in a cgroup namespace, like a privileged container', inContainer, {
    'the server moves into a leaf': (seen) => assert.equal(seen.serverGroup, '/hotcell-server'),
    ...SET,
  });
  await check('as root, the next server removes the groups of one that was killed', async () => {
    const left = await killedServer(observe('wait'));
    assert.ok(left.length > 0 && left.every(exists), `nothing was left: ${left}`);
    parsed(await run(observe('brief'), SLOW));
    assert.deepEqual(left.filter(exists), []);
  });
}

async function checksUnprivileged(check) {
  const home = '/home/unprivileged';
  mkdirSync(home, { recursive: true });
  chownSync(home, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
  const observe = server(join(home, 'data'), home);
  const delegated = (work) => withDelegatedSubtree(UNPRIVILEGED_UID, work);
  const inside = (group, extent) => runInside(group, observe(extent), { uid: UNPRIVILEGED_UID, ...SLOW });

  await scenario(check, 'unprivileged in a delegated group', () => delegated(({ path }) => inside(path, 'all')), {
    'the server moves into a leaf': (seen) => assert.equal(seen.serverGroup, '/delegated/hotcell-server'),
    ...HARD,
  });
  await scenario(check, 'unprivileged in a subgroup of one', () => delegated(({ self }) => inside(self, 'brief')), {
    'the server stays where it is': (seen) => assert.equal(seen.serverGroup, '/delegated/self'),
    ...SET,
  });
  await check('unprivileged, the next server in the group removes what a killed one left and takes its place', () =>
    delegated(async ({ path }) => {
      const enter = ['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', path];
      const left = await killedServer([...enter, ...asUser(UNPRIVILEGED_UID), ...observe('wait')]);
      assert.ok(left.length > 0 && left.every(exists), `nothing was left: ${left}`);
      // Whoever started the first was moved with it, so the second starts in the leaf.
      const seen = parsed(await inside(join(path, 'hotcell-server'), 'brief'));
      assert.equal(seen.serverGroup, '/delegated/hotcell-server');
      assert.deepEqual(left.filter(exists), []);
    }),
  );
  const alone = () => run([...asUser(UNPRIVILEGED_UID), ...observe('all')], SLOW);
  await scenario(check, 'unprivileged without delegation', alone, SOFT);
}

/** One server in one place: what it saw is gathered once, and each promise judged by itself. */
async function scenario(check, where, observe, promises) {
  let seen;
  await check(`${where}, a server opens, works and closes`, async () => {
    seen = parsed(await observe());
    assert.equal(seen.first.value, '42', JSON.stringify(seen.first));
  });
  if (seen === undefined) return;
  for (const [promise, prove] of Object.entries(promises)) await check(`${where}, ${promise}`, () => prove(seen));
}

const SET = {
  'isolation reports cgroup v2, hard'(seen) {
    for (const limits of [seen.isolation.limits, seen.first.limits]) {
      for (const name of LIMITED) assert.deepEqual(limits[name], { strength: 'hard', by: 'cgroup v2' }, name);
    }
  },
  'the limits are set, on swap too'(seen) {
    assert.deepEqual(seen.set, {
      'memory.max': String(LIMIT_BYTES),
      'memory.swap.max': '0',
      'pids.max': '24',
      'cpu.max': '200000 100000',
    });
  },
  'groups go with their session and their server'(seen) {
    assert.equal(seen.sessionGroups.length, 1, String(seen.groups));
    assert.deepEqual(seen.sessionGroupsAfterSession, []);
    assert.deepEqual(seen.groupsAfterClose, []);
  },
};

const KEPT = {
  'what runs out of memory says so, keeps its files and goes on'(seen) {
    assert.deepEqual(seen.memory.outcome, { kind: 'out-of-memory', limitBytes: LIMIT_BYTES });
    assert.equal(seen.kept, 'kept');
    assert.equal(seen.afterMemory.value, "'kept'", JSON.stringify(seen.afterMemory));
  },
  'a fork beyond the limit is refused, and a fork bomb is survived'(seen) {
    const [forked, ending] = seen.forks.stdout.trim().split(' ');
    assert.ok(Number(forked) < 24 && ending === 'EAGAIN', JSON.stringify(seen.forks));
    assert.equal(seen.bomb.outcome.kind, 'timed-out');
    assert.equal(seen.afterBomb.value, '42', JSON.stringify(seen.afterBomb));
  },
};

const HARD = {
  ...SET,
  ...KEPT,
  'memory beyond the limit is taken back by the kernel, also what is shared'(seen) {
    assert.equal(seen.sharedMemory.outcome.kind, 'out-of-memory', JSON.stringify(seen.sharedMemory));
    assert.ok(Number(seen.memoryKills) > 0, 'the kernel counted no kill');
  },
  'a fork bomb never has more processes than allowed'(seen) {
    assert.ok(seen.mostProcesses > 12 && seen.mostProcesses <= 24, `${seen.mostProcesses} where 24 are allowed`);
    assert.ok(seen.refused > 0, 'pids.max refused nothing');
  },
  'half a processor is half a processor'(seen) {
    assert.ok(seen.cpu.share > 0.1 && seen.cpu.share < 0.6, `used ${seen.cpu.share} where 0.5 is allowed`);
  },
};

const SOFT = {
  'isolation and results say soft, and there is no group'(seen) {
    for (const limits of [seen.isolation.limits, seen.first.limits, seen.memory.limits]) {
      for (const name of LIMITED) assert.equal(limits[name].strength, 'soft', name);
    }
    assert.deepEqual(seen.groups, []);
  },
  ...KEPT,
};

function server(dataDir, home = '/root') {
  return (extent) => ['env', `HOME=${home}`, 'node', OBSERVER, dataDir, extent];
}

function parsed({ exitCode, signal, stdout, stderr }) {
  assert.equal(exitCode, 0, `ended with ${signal ?? exitCode}: ${stderr || stdout}`);
  return JSON.parse(stdout);
}

/** Starts a server, kills it as soon as it has a session, and returns the groups that it had. */
async function killedServer([command, ...args]) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    child.kill('SIGKILL');
    await once(child, 'exit');
    return JSON.parse(line).groups;
  }
  throw new Error('the server ended before it had a session');
}

function exists(group) {
  return existsSync(join(CGROUP_ROOT, group));
}

/** With somewhere to swap to: what a limit on memory alone would let a sandbox do. */
async function withSwap(work) {
  const file = '/swap-of-checks';
  const must = async (...argv) => {
    const { exitCode, stderr } = await run(argv);
    assert.equal(exitCode, 0, `${argv.join(' ')}: ${stderr}`);
  };
  await must('fallocate', '-l', String(512 * MIB), file);
  await must('chmod', '600', file);
  await must('mkswap', '-q', file);
  await must('swapon', file);
  try {
    await work();
  } finally {
    await must('swapoff', file);
    rmSync(file);
  }
}
