import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openHotcell } from '../../dist/index.js';
import { CGROUP_ROOT } from './cgroup.mjs';

/**
 * A server of its own: takes the built Hotcell to its limits and prints what it saw as one line of JSON, which
 * `hotcell-checks.mjs` judges. A program, because where a server stands in the cgroup tree is settled when it starts.
 *
 *   node observe-hotcell.mjs <data folder> all      every limit
 *   node observe-hotcell.mjs <data folder> brief    where the groups are, and that a session works
 *   node observe-hotcell.mjs <data folder> wait     opens a session and lives until it is killed
 */
const [dataDir, extent] = process.argv.slice(2);
const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 96 * MIB, diskBytes: 4 * MIB, cpus: 2, processes: 24 };

const FILL_MEMORY = `
blocks = []
for _ in range(256):
    blocks.append(b"x" * (1 << 20))
`;

// A process's own data has a limit in the process itself (RLIMIT_DATA), which acts first; what it shares has not.
const FILL_SHARED_MEMORY = `
import mmap
blocks = []
for _ in range(256):
    block = mmap.mmap(-1, 1 << 20)
    block[:] = b"x" * (1 << 20)
    blocks.append(block)
`;

const FORK_UNTIL_REFUSED = `
import errno, os, signal
children, ending = [], "never refused"
try:
    for _ in range(100):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError as error:
    ending = errno.errorcode[error.errno]
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(len(children), ending)
`;

const FORK_BOMB = `
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
`;

const BURN = `
import time
began, used = time.monotonic(), time.process_time()
while time.monotonic() - began < 2:
    pass
(time.process_time() - used) / (time.monotonic() - began)
`;

const hotcell = await openHotcell({ dataDir, isolation: 'process', preloads: [], poolSize: 0, startTimeoutMs: 60_000 });
const ourGroups = `/hotcell-${readFileSync(join(dataDir, 'installation'), 'utf8').trim()}-`;
const session = await hotcell.open({ limits: LIMITS });
if (extent === 'wait') {
  print({ groups: groups() });
  setInterval(() => {}, 60_000);
} else {
  const seen = { ...(await place()), ...(extent === 'all' ? await limits() : {}) };
  say('closing the session');
  await session.close();
  seen.sessionGroupsAfterSession = sessionGroups();
  say('closing the server');
  await hotcell.close();
  seen.groupsAfterClose = groups();
  print(seen);
}

async function place() {
  return {
    isolation: session.isolation,
    serverGroup: readFileSync('/proc/self/cgroup', 'utf8').trim().replace('0::', ''),
    groups: groups(),
    sessionGroups: sessionGroups(),
    set: settings(),
    first: await run(session, '6 * 7'),
  };
}

async function limits() {
  await session.files.write('kept.txt', 'kept');
  return {
    memory: await run(session, FILL_MEMORY),
    sharedMemory: existsSync(sessionFile('memory.max')) ? await run(session, FILL_SHARED_MEMORY) : undefined,
    memoryKills: read(sessionFile('memory.events'))?.match(/^oom_kill (\d+)$/m)?.[1],
    kept: await session.files.read('kept.txt').then(String, String),
    afterMemory: await run(session, 'open("kept.txt").read()'),
    forks: await run(session, FORK_UNTIL_REFUSED),
    ...(await bomb()),
    cpu: await processorShare(),
  };
}

/** The children of the bomb outlive the execution that made them: they go with a reset. */
async function bomb() {
  // While it runs: a sandbox that does not come to its senses in time is replaced, and its group with it.
  let most = 0;
  let refused = 0;
  const look = () => {
    most = Math.max(most, Number(read(sessionFile('pids.current')) ?? 0));
    refused = Math.max(refused, Number(read(sessionFile('pids.events'))?.match(/^max (\d+)$/m)?.[1] ?? 0));
  };
  const looking = setInterval(look, 50);
  const bomb = await run(session, FORK_BOMB, 1_500);
  clearInterval(looking);
  say('resetting');
  await session.reset();
  return { bomb, mostProcesses: most, refused, afterBomb: await run(session, '6 * 7') };
}

async function processorShare() {
  const narrow = await hotcell.open({ limits: { ...LIMITS, cpus: 0.5 } });
  const result = await run(narrow, BURN);
  say('closing the narrow session');
  await narrow.close();
  return { ...result, share: Number(result.value) };
}

async function run(where, code, timeoutMs = 60_000) {
  say(`running ${code.trim().split('\n')[0]}`);
  const { outcome, stdout, stderr, value, state, files, isolation } = await where.run(code, { timeoutMs });
  return { outcome, stdout, stderr, value: value?.text, state, files, limits: isolation.limits };
}

/** Every group of this installation, from the root of the tree. */
function groups(folder = '') {
  return childrenOf(folder).flatMap((path) => [...(path.includes(ourGroups) ? [path] : []), ...groups(path)]);
}

/** Other servers' groups may go while we look. */
function childrenOf(folder) {
  try {
    const entries = readdirSync(join(CGROUP_ROOT, folder), { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => `${folder}/${entry.name}`);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return [];
  }
}

/** A group without a limit is one that is kept ready for a session to come; a zygote's has a limit of its own. */
function sessionGroups() {
  const limit = (path) => read(join(CGROUP_ROOT, path, 'pids.max')) ?? 'max';
  return groups().filter((path) => limit(path) === String(LIMITS.processes));
}

function sessionFile(name) {
  return join(CGROUP_ROOT, sessionGroups()[0] ?? 'none', name);
}

function settings() {
  const names = ['memory.max', 'memory.swap.max', 'pids.max', 'cpu.max'];
  return Object.fromEntries(names.map((name) => [name, read(sessionFile(name))]));
}

/** Undefined where it is not there, or goes while it is read. */
function read(path) {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Read only where the server fails: it tells where. */
function say(step) {
  process.stderr.write(`${(performance.now() / 1000).toFixed(1)} s: ${step}\n`);
}

function print(seen) {
  process.stdout.write(`${JSON.stringify(seen)}\n`);
}
