import { HotcellError } from '../../errors/hotcell-error.ts';
import type { RunFlags } from '../run/options.ts';

/** The flags as typed. */
export interface ShellFlags
  extends Pick<
    RunFlags,
    | 'server'
    | 'token'
    | 'timeout'
    | 'json'
    | 'isolation'
    | 'minIsolation'
    | 'memory'
    | 'cpus'
    | 'mount'
    | 'network'
    | 'service'
    | 'image'
  > {
  readonly attach?: string;
  readonly cwd?: string;
  readonly list?: boolean;
}

/** Refuses flags that cannot be combined. */
export function refuseMixed(session: string | undefined, words: readonly string[], flags: ShellFlags): void {
  for (const name of session === undefined ? FOR_SERVER : FOR_SANDBOX) {
    if (flags[name] === undefined) continue;
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw session === undefined
      ? invalid(`${flag} needs a session`, 'Name a session of the server: hotcell shell <session>')
      : invalid(
          `${flag} cannot be used with a session`,
          'It has its sandbox already; remove the flag, or the session.',
        );
  }
  if (flags.json && !flags.list) throw invalid('--json needs --list', 'Remove --json, or add --list.');
  if (words.length > 0 && (flags.attach !== undefined || flags.list)) {
    throw invalid('a command cannot be combined with --attach or --list', 'Remove one of them.');
  }
  if (flags.attach !== undefined && flags.list) throw invalid('--attach and --list exclude each other', 'Use one.');
}

const FOR_SANDBOX = ['isolation', 'minIsolation', 'memory', 'cpus', 'mount', 'network', 'service', 'image'] as const;
const FOR_SERVER = ['server', 'token', 'attach', 'list'] as const;

function invalid(message: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', message, { remedy });
}
