import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { firstBarrier } from '../../src/drivers/process/interpreter.ts';

/** Numbers of users that no machine has: no account is needed to run as one. */
export const VICTIM = 61_841;
export const STRANGER = 61_842;

const root = new URL('../..', import.meta.url).pathname;
export const CLI = `${root}dist/cli.js`;

/** Why nothing can be tried here as other users, or nothing. */
export function reasonNoOtherUsers(): string | undefined {
  if (process.platform !== 'linux') return 'other users are tried on Linux alone';
  if (process.getuid?.() !== 0) return 'only root can run programs as other users';
  const barrier = firstBarrier(process.execPath) ?? firstBarrier(`${root}package.json`);
  return barrier === undefined ? undefined : `other users cannot pass ${barrier}`;
}

/** Starts Node as another user, with nothing of our environment, under a umask that hides nothing. */
export function spawnAs(uid: number, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const loose = 'data:text/javascript,process.umask(0)';
  return spawn(process.execPath, ['--import', loose, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: '/',
    ...options,
    env: { PATH: process.env.PATH, ...options.env },
    uid,
    gid: uid,
  });
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs Node as another user to its end. */
export async function runAs(
  uid: number,
  args: readonly string[],
  { env = {}, input = '' }: { env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Ran> {
  const child = spawnAs(uid, args, { env });
  child.stdin?.end(input);
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code, ...said };
}

/** The next line that a program prints. */
export async function nextLine(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += chunk;
    if (text.includes('\n')) break;
  }
  return text.trim();
}
