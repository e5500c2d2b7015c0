import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { createDockerDriver } from '../../src/drivers/docker/index.ts';
import { createProcessDriver } from '../../src/drivers/process/index.ts';
import { HotcellError } from '../../src/errors/hotcell-error.ts';
import type { ExecutionResult } from '../../src/execution/result.ts';
import type { Frame } from '../../src/lib/frames.ts';
import { type Hotcell, openHotcell, type Session } from '../../src/main.ts';
import type { Driver } from '../../src/sandbox/driver.ts';
import type { Host } from '../../src/sandbox/host.ts';
import { type FrameWatcher, type Sender, watchedDriver } from '../support/frame-watch.ts';
import { hasEnded, type SandboxProcesses, sandboxesBelow } from '../support/host-processes.ts';
import { onlyWithAll, reasonToLeaveTo } from '../support/strength.ts';
import { reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

const MiB = 1_048_576;
const WINDOW_BYTES = 262_144;
const FILE = 'four-megabytes';

type Victim = 'kernel' | 'supervisor' | 'jail' | 'container';

interface Step {
  readonly name: string;
  /** Made anew for each trial: true for the frame at which the victim is killed, before the other side gets it. */
  readonly moment: () => (sender: Sender, frame: Frame) => boolean;
  /** What the host is about at that moment. */
  readonly work: (subject: Subject) => PromiseLike<unknown>;
  /** How that ends, by who was killed: an outcome's kind, or an error's code. */
  readonly ends: Readonly<Record<'kernel' | 'sandbox', RegExp>>;
}

interface Subject {
  readonly hotcell: Hotcell;
  readonly session: Session;
  /** Resolves when the victim is dead. */
  readonly killed: Promise<void>;
  /** Kills the victim now, where no frame marks the moment. */
  kill(): void;
}

const STEPS: readonly Step[] = [
  {
    name: 'before hello',
    moment: () => sent('host', 'hello'),
    work: openAnother,
    ends: { kernel: /^(ok|kernel-died)$/, sandbox: /^(sandbox_lost|start_failed)$/ },
  },
  {
    name: 'between welcome and ready',
    moment: () => sent('guest', 'welcome'),
    work: openAnother,
    ends: { kernel: /^(ok|kernel-died)$/, sandbox: /^(sandbox_lost|start_failed|sandbox-lost|ok)$/ },
  },
  {
    name: 'while idle',
    moment: never,
    work: ({ session, kill }) => {
      kill();
      return session.run('1');
    },
    ends: { kernel: /^(ok|kernel-died)$/, sandbox: /^(ok|sandbox-lost)$/ },
  },
  {
    name: 'when execute is sent and has not begun',
    moment: () => sent('host', 'execute'),
    work: ({ session }) => session.run('import time; time.sleep(0.5)', { timeoutMs: 30_000 }),
    // The kernel's death may be seen before the code arrives, which then has the next one.
    ends: { kernel: /^(ok|kernel-died)$/, sandbox: /^sandbox-lost$/ },
  },
  {
    name: 'when the code has begun',
    moment: () => sent('guest', 'stdout'),
    work: ({ session }) => session.run('import time; print("begun"); time.sleep(30)', { timeoutMs: 30_000 }),
    ends: { kernel: /^kernel-died$/, sandbox: /^sandbox-lost$/ },
  },
  {
    name: 'in the middle of output',
    moment: () => sent('guest', 'stdout', 5),
    work: ({ session }) => session.run('while True: print("x" * 100_000)', { timeoutMs: 30_000 }),
    ends: { kernel: /^kernel-died$/, sandbox: /^sandbox-lost$/ },
  },
  {
    name: 'while output waits for credit',
    moment: outOfCredit,
    work: async ({ session, killed }) => {
      const flood = session.run('while True: print("x" * 10_000)', { timeoutMs: 30_000 });
      const events = flood[Symbol.asyncIterator]();
      await events.next();
      await killed; // nothing is read until then
      while ((await events.next()).done !== true);
      return flood;
    },
    ends: { kernel: /^kernel-died$/, sandbox: /^sandbox-lost$/ },
  },
  {
    name: 'in the interrupt ladder',
    moment: () => sent('host', 'interrupt'),
    work: ({ session }) =>
      session.run('import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass', { timeoutMs: 100 }),
    ends: { kernel: /^(timed-out|kernel-died)$/, sandbox: /^timed-out$/ },
  },
  {
    name: 'during file.write',
    moment: () => sent('host', 'chunk', 10),
    work: ({ session }) => session.files.write('written', Buffer.alloc(4 * MiB)),
    ends: { kernel: /^ok$/, sandbox: /^sandbox_lost$/ },
  },
  {
    name: 'during file.read',
    moment: () => sent('guest', 'chunk', 3),
    work: async ({ session }) => (await session.files.read(FILE)).length,
    ends: { kernel: /^ok$/, sandbox: /^sandbox_lost$/ },
  },
  {
    name: 'when finished has been sent',
    moment: () => sent('guest', 'finished'),
    work: ({ session }) => session.run('print("done")'),
    ends: { kernel: /^ok$/, sandbox: /^ok$/ },
  },
];

interface Column {
  readonly target: Target;
  readonly victim: Victim;
  readonly driver: (host: Host) => Driver;
  /** Kills it from the host, at once and without letting anything else happen here. */
  readonly kill: (host: Host) => void;
}

const COLUMNS: readonly Column[] = [
  ...(['shared', 'single'] as const).flatMap((shape) =>
    (['kernel', 'supervisor', 'jail'] as const).map((victim) => ({
      target: TARGETS[shape],
      victim,
      driver: (host: Host) => createProcessDriver(host, { shape }),
      kill: () => killNewest(shape, victim),
    })),
  ),
  {
    target: TARGETS.docker,
    victim: 'container',
    driver: (host) => createDockerDriver(host),
    kill: (host) => {
      const label = `label=${LABELS.server}=${host.serverId}`;
      // The newest that runs. One that is being removed is listed for a moment longer, and cannot be killed.
      for (let tries = 1; ; tries += 1) {
        const running = execFileSync('docker', ['ps', '--quiet', '--filter', label], { encoding: 'utf8' });
        const { status, stderr } = spawnSync('docker', ['kill', running.split('\n')[0]!], { encoding: 'utf8' });
        if (status === 0) return;
        if (tries === 10) throw new Error(`no container could be killed: ${stderr}`);
      }
    },
  },
];

const skipReasons = new Map<string, string | undefined>();
for (const target of [TARGETS.shared, TARGETS.single, TARGETS.docker]) {
  const skipped =
    target === TARGETS.single ? await reasonToLeaveTo(TARGETS.shared, target) : await reasonToSkip(target);
  skipReasons.set(target.name, skipped);
}

const leftToSupervisor =
  skipReasons.get(TARGETS.shared.name) === undefined ? onlyWithAll('a supervisor is killed at this step') : undefined;

describe.each(COLUMNS)('$target.name: a $victim killed from outside', ({ target, victim, driver, kill }) => {
  describe.skipIf(skipReasons.get(target.name) !== undefined)(
    'gives a typed end within 5 s, and the next call works:',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'hotcell-killed-'));
      let host: Host;
      let hotcell: Hotcell;
      let session: Session;
      let watch: FrameWatcher = () => {};

      beforeAll(async () => {
        const drivers = {
          [target.options.isolation as 'process']: async (given: Host) => {
            host = given;
            return watchedDriver(driver(given), (sender, frame) => watch(sender, frame));
          },
        };
        const dataDir = target === TARGETS.docker ? { dataDir: folder } : {};
        hotcell = await openHotcell({ ...target.options, ...dataDir, poolSize: 0, preloads: [], drivers });
        session = await hotcell.open();
      });

      afterAll(async () => {
        await hotcell?.close();
        rmSync(folder, { recursive: true, force: true });
      });

      it.for(STEPS.filter((step) => isPossible(step, target, victim)))('$name', async (step, context) => {
        context.skip(leftToSupervisor !== undefined && isLeft(step, victim), leftToSupervisor);
        await session.files.write(FILE, Buffer.alloc(4 * MiB));
        expect((await session.run('1 + 1')).value?.text).toBe('2');
        let killedAt: number | undefined;
        let resolveKilled!: () => void;
        const killed = new Promise<void>((resolve) => {
          resolveKilled = resolve;
        });
        const killNow = () => {
          kill(host);
          killedAt = performance.now();
          resolveKilled();
        };
        const isNow = step.moment();
        watch = (sender, frame) => {
          if (killedAt === undefined && isNow(sender, frame)) killNow();
        };
        const end = await step.work({ hotcell, session, killed, kill: killNow }).then(describeEnd, describeEnd);
        watch = () => {};
        expect(killedAt, 'the moment never came').toBeDefined();
        expect(performance.now() - (killedAt ?? 0)).toBeLessThan(5_000);
        expect(end).toMatch(step.ends[victim === 'kernel' ? 'kernel' : 'sandbox']);

        // Where the death came too late to change how the work ended, or hit a neighbour, the next call is the one to say it.
        const next = await session.run('1 + 1');
        const died = victim === 'kernel' ? 'kernel-died' : 'sandbox-lost';
        if ((end === 'ok' || step.work === openAnother) && next.outcome.kind === died) {
          expect(next.state).toBe('lost');
          expect(performance.now() - (killedAt ?? 0)).toBeLessThan(5_000);
          expect((await session.run('1 + 1')).value?.text).toBe('2');
        } else expect(next.value?.text).toBe('2');
        if (step.work === openAnother) await (await hotcell.open()).close();
      });
    },
  );
});

/** The host sees the same when any of them is gone: its channel closes. They differ in what has to be cleared away, which these show. */
const OF_WHOLE_SANDBOXES = ['before hello', 'while idle', 'when the code has begun', 'during file.write'];

function isLeft(step: Step, victim: Victim): boolean {
  return (victim === 'jail' || victim === 'container') && !OF_WHOLE_SANDBOXES.includes(step.name);
}

/** A jail of its own has no kernel before it is told how to make one. */
function isPossible(step: Step, target: Target, victim: Victim): boolean {
  return !(target === TARGETS.single && victim === 'kernel' && step.name === 'before hello');
}

async function openAnother({ hotcell }: Subject): Promise<ExecutionResult> {
  await using session = await hotcell.open();
  return await session.run('1 + 1');
}

function describeEnd(end: unknown): string {
  if (end instanceof HotcellError) return end.code;
  if (end instanceof Error) return `not typed: ${end.stack}`;
  return (end as Partial<ExecutionResult> | undefined)?.outcome?.kind ?? 'ok';
}

function killNewest(shape: 'shared' | 'single', victim: Exclude<Victim, 'container'>): void {
  let newest: SandboxProcesses | undefined;
  // A kernel is forked right after the frame that announces it; there is no event for that on the host.
  untilSync(() => {
    newest = sandboxesBelow(process.pid, shape)
      .filter(({ closedIn }) => closedIn || shape === 'single')
      .sort((a, b) => a.startedAt - b.startedAt || a.supervisor - b.supervisor)
      .at(-1);
    return newest?.[victim] !== undefined;
  });
  process.kill(newest![victim]!, 'SIGKILL');
  // A signal takes effect when its target next runs: the moment would have passed.
  // What bubblewrap was still building does not die with it: that is for the host to see to.
  const last = victim === 'jail' && newest?.closedIn === true ? 'supervisor' : victim;
  untilSync(() => hasEnded(newest![last]!));
}

function untilSync(isSo: () => boolean): void {
  for (const startedAt = performance.now(); performance.now() - startedAt < 3_000; ) if (isSo()) return;
  throw new Error('not so within three seconds');
}

function sent(by: Sender, type: string, nth = 1): (sender: Sender, frame: Frame) => boolean {
  let seen = 0;
  return (sender, frame) => {
    if (sender === by && frame.head.type === type) seen += 1;
    return seen === nth;
  };
}

function never(): () => boolean {
  return () => false;
}

/** True once the guest has used up what it was granted for the stream of an execution. */
function outOfCredit(): (sender: Sender, frame: Frame) => boolean {
  let left = WINDOW_BYTES;
  let stream = 0;
  return (sender, frame) => {
    if (sender === 'host' && frame.head.type === 'execute') stream = Number(frame.head.stream);
    if (sender === 'guest' && frame.stream === stream && stream !== 0) left -= frame.sizeBytes;
    if (sender === 'host' && frame.head.type === 'credit' && frame.head.stream === stream)
      left += Number(frame.head.bytes);
    return left <= 0;
  };
}
