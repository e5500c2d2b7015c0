import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { OpenRequest } from '../../src/directory/open-request.ts';
import type { ServerOptions } from '../../src/main.ts';
import { talkTo } from './child-hotcell.ts';

/** The built server of sessions in a process of its own, to be ended in every way. */
export interface ChildServer {
  readonly pid: number;
  /** Opens a session, and gives its id. */
  open(owner: string, request: OpenRequest): Promise<string>;
  /** The id of the owner's session of that id, or of the default one. */
  use(owner: string, id?: string): Promise<string>;
  run(
    owner: string,
    id: string | undefined,
    code: string,
  ): Promise<{ outcome: string; value?: string; restarted?: string }>;
  log(message: string): Promise<void>;
  metrics(): Promise<string>;
  settled(): Promise<void>;
  /** Tells it to begin something, and resolves when it has: in the middle of it. */
  begin(command: 'open' | 'use' | 'run' | 'closeSession' | 'close', ...args: unknown[]): Promise<void>;
  /** Sends a signal. Resolves with the exit code when the process is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<number | null>;
}

const root = new URL('../..', import.meta.url).pathname;

export async function startServer(home: string, options: ServerOptions): Promise<ChildServer> {
  const child = fork(join(root, 'test/support/server-child.mjs'), {
    env: { ...process.env, HOTCELL_HOME: home },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { ask, begin } = talkTo(child);
  await ask('start', { poolSize: 0, preloads: [], logLevel: 'silent', ...options });
  return {
    pid: child.pid ?? 0,
    open: async (owner, request) => (await ask('open', owner, request)) as string,
    use: async (owner, id) => (await ask('use', owner, id)) as string,
    run: async (owner, id, code) => (await ask('run', owner, id, code)) as Awaited<ReturnType<ChildServer['run']>>,
    log: async (message) => {
      await ask('log', message);
    },
    metrics: async () => (await ask('metrics')) as string,
    settled: async () => {
      await ask('settled');
    },
    begin,
    end: async (signal) => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await once(child, 'exit');
      }
      return child.exitCode;
    },
  };
}
