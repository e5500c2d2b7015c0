import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { resolveDataDir } from '../../src/config/load.ts';
import { type Deferred, deferred } from '../../src/lib/deferred.ts';
import type { HotcellOptions, OpenOptions } from '../../src/main.ts';
import type { Installation } from '../../src/sessions/installation.ts';
import { newTestHome } from './test-home.ts';

/** The built Hotcell in a process of its own, to be killed, and to share a host with others. */
export interface ChildHotcell {
  readonly pid: number;
  open(name: string, options?: OpenOptions): Promise<void>;
  run(name: string, code: string): Promise<{ outcome: string; value?: string; restarted?: string }>;
  install(name: string, packages: readonly string[]): Promise<Installation>;
  settled(): Promise<void>;
  /** Closes the Hotcell and ends the process. */
  stop(): Promise<void>;
  /** Tells it to begin something, and resolves when it has: in the middle of it. */
  begin(command: 'open' | 'run' | 'install' | 'close', ...args: unknown[]): Promise<void>;
  /** SIGKILL. Resolves when the process is gone. */
  kill(): Promise<void>;
}

const root = new URL('../..', import.meta.url).pathname;

export function makeHome(): { readonly home: string; remove(): void } {
  const home = newTestHome(resolveDataDir({}));
  return { home, remove: () => rmSync(home, { recursive: true, force: true }) };
}

export async function startChild(
  home: string,
  options: HotcellOptions,
  environment: Readonly<Record<string, string>> = {},
): Promise<ChildHotcell> {
  const child = fork(join(root, 'test/support/hotcell-child.mjs'), {
    env: { ...process.env, ...environment, HOTCELL_HOME: home },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { ask, begin } = talkTo(child);
  await ask('start', { poolSize: 0, preloads: [], ...options });
  const gone = () => (child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined);
  return {
    pid: child.pid ?? 0,
    open: async (name, openOptions = {}) => {
      await ask('open', name, openOptions);
    },
    run: async (name, code) => (await ask('run', name, code)) as Awaited<ReturnType<ChildHotcell['run']>>,
    install: async (name, packages) => (await ask('install', name, packages)) as Installation,
    settled: async () => {
      await ask('settled');
    },
    stop: async () => {
      await ask('close');
      child.disconnect();
      await gone();
    },
    begin,
    kill: async () => {
      child.kill('SIGKILL');
      await gone();
    },
  };
}

interface Answer {
  readonly id: number;
  readonly begun?: boolean;
  readonly result?: unknown;
  readonly error?: { code?: string; message: string };
}

/** Orders to a child, and its answers. */
export function talkTo(child: ChildProcess) {
  const waiting = new Map<number, { begun: Deferred<void>; done: Deferred<unknown> }>();
  let next = 0;
  child.on('message', ({ id, begun, result, error }: Answer) => {
    if (begun === true) waiting.get(id)?.begun.resolve();
    else if (error !== undefined) waiting.get(id)?.done.reject(Object.assign(new Error(error.message), error));
    else waiting.get(id)?.done.resolve(result);
  });
  child.once('exit', () => {
    for (const { begun, done } of waiting.values()) {
      begun.reject(new Error('the child has ended'));
      done.reject(new Error('the child has ended'));
    }
  });

  function tell(command: string, args: unknown[]) {
    const id = next++;
    const answer = { begun: deferred<void>(), done: deferred<unknown>() };
    for (const { promise } of [answer.begun, answer.done] as Deferred<unknown>[]) promise.catch(() => {});
    waiting.set(id, answer);
    child.send({ id, command, args });
    return answer;
  }

  return {
    ask: (command: string, ...args: unknown[]) => tell(command, args).done.promise,
    begin: (command: string, ...args: unknown[]) => tell(command, args).begun.promise,
  };
}
