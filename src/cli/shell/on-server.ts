import { tokenFromEnvironment } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { quotedName } from '../../lib/said-inside.ts';
import { exitCodeOfOutcome } from '../../sandbox/outcome-table.ts';
import { defaultServer } from '../default-server.ts';
import { listenForEndings } from '../ending-signals.ts';
import { type Output, standardOutputs, standardScreen } from '../output.ts';
import { quotedOutcome } from '../run/ending.ts';
import { durationMs } from '../run/options.ts';
import { attendAtTerminal, sizeOf } from './at-terminal.ts';
import { endingLine } from './ending-line.ts';
import type { ShellFlags } from './flags.ts';
import {
  attachLine,
  createRemoteCommands,
  type ListedCommand,
  type RemoteCommand,
  type RemoteCommands,
} from './remote-commands.ts';
import { LOGIN_SHELL } from './shell-command.ts';
import { attendThroughPipes } from './through-pipes.ts';

/**
 * `hotcell shell <session>`: a command in a session of a server, beside its other executions. Returns its exit code.
 */
export async function shellOnServer(session: string, words: readonly string[], flags: ShellFlags): Promise<number> {
  // SECURITY: the token in the environment belongs to one server. Without `--server` it is not sent: any local program
  // can listen on the default port.
  const token = flags.token ?? (flags.server === undefined ? undefined : tokenFromEnvironment());
  const server = flags.server ?? (await defaultServer());
  using commands = createRemoteCommands(server, session, token);
  const { stdout, stderr } = standardOutputs();
  if (flags.list) {
    const found = await commands.list();
    if (flags.json) await stdout.json(found);
    else await showList(found, stdout, stderr);
    return 0;
  }
  const isTerminal = process.stdin.isTTY === true && stdout.isTTY;
  const attached = flags.attach === undefined ? undefined : await find(commands, flags.attach);
  const command =
    attached === undefined ? await start(commands, { words, flags, isTerminal }) : await commands.attach(flags.attach!);
  const hasTerminal = attached?.terminal ?? isTerminal;
  const isAttached = attached !== undefined;
  if (isTerminal && hasTerminal) {
    // The command lives on, as after a lost connection.
    using _ = listenForEndings((_name, exitCode) => process.exit(exitCode));
    const left = await attendAtTerminal(command, { input: process.stdin, screen: standardScreen(), isAttached });
    if (left === 'detached') return detached(command, commands, session, stderr);
  } else {
    // End of file from this terminal would end a shell that belongs to another one.
    const endsInput = !(isAttached && hasTerminal);
    await attendThroughPipes(command, { input: process.stdin, outputs: { stdout, stderr }, endsInput });
  }
  const outcome = quotedOutcome(await command.outcome());
  const ending = endingLine(outcome);
  if (ending !== undefined) await stderr.say(ending);
  return exitCodeOfOutcome(outcome);
}

async function start(
  commands: RemoteCommands,
  { words, flags, isTerminal }: { words: readonly string[]; flags: ShellFlags; isTerminal: boolean },
): Promise<RemoteCommand> {
  const [line = LOGIN_SHELL] = words;
  return commands.start({
    // One word is a line for the shell, as with ssh; several are a program and its arguments, as with docker exec.
    command: words.length > 1 ? words : line,
    ...(isTerminal ? { terminal: sizeOf(standardScreen()) } : { stdin: true }),
    ...(flags.cwd === undefined ? {} : { cwd: flags.cwd }),
    ...(flags.timeout === undefined ? {} : { timeout_ms: durationMs('--timeout', flags.timeout) }),
  });
}

async function find(commands: RemoteCommands, id: string): Promise<ListedCommand> {
  const found = (await commands.list()).find(({ execution_id }) => execution_id === id);
  if (found !== undefined) return found;
  throw new HotcellError('execution_not_found', `there is no command ${quotedName(id.slice(0, 100))} in this session`, {
    remedy: 'Run `hotcell shell <session> --list` to see them.',
  });
}

async function detached(
  command: RemoteCommand,
  commands: RemoteCommands,
  session: string,
  stderr: Output,
): Promise<number> {
  await stderr.say('');
  await stderr.say('hotcell: detached; the command goes on. Attach again with:');
  await stderr.say(`  ${attachLine(commands.origin, session, command.id)}`);
  return 0;
}

async function showList(found: readonly ListedCommand[], stdout: Output, stderr: Output): Promise<void> {
  if (found.length === 0) await stderr.say('hotcell: there are no commands in this session.');
  for (const { execution_id, command, state, started_at, terminal } of found) {
    const place = terminal ? 'terminal' : 'pipes';
    const words = [quotedName(execution_id), state.padEnd(7), `${started_at.slice(0, 16)}Z`, place.padEnd(8)];
    await stdout.say([...words, quotedName(command)].join('  '));
  }
}
