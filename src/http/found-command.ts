import type { ManagedExecution, ManagedSession, SessionDirectory } from '../directory/directory.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { HttpContext } from './environment.ts';

/** A managed execution that is a command. */
export type FoundCommand = ManagedExecution & Required<Pick<ManagedExecution, 'command'>>;

/** The session that the path names. SECURITY: as the owner's who asks; another owner's is not found. */
export function sessionOf(
  context: HttpContext,
  sessions: SessionDirectory,
  gone: AbortSignal,
  check?: () => void,
): Promise<ManagedSession> {
  return sessions.use(context.get('owner'), context.req.param('session'), {
    via: `${context.req.method} /run/commands`,
    signal: gone,
    ...(check === undefined ? {} : { check }),
  });
}

/** SECURITY: only in that session. An execution that is no command is not found either. */
export function commandOf(session: ManagedSession, id: string): FoundCommand {
  const execution = session.execution(id);
  if (execution?.command !== undefined) return execution as FoundCommand;
  throw new HotcellError('execution_not_found', `there is no command ${id.slice(0, 100)} in this session`, {
    remedy: 'GET /run/{session}/commands lists them; commands that ended are dropped after a while.',
  });
}

/** How much of a command line a list shows. */
const LINE_CHARS = 1_000;

export function commandLines(session: ManagedSession): object[] {
  return session.executions().flatMap(({ id, command, startedAt, state }) =>
    command === undefined
      ? []
      : {
          execution_id: id,
          command: command.line.slice(0, LINE_CHARS),
          state: state(),
          started_at: startedAt.toISOString(),
          terminal: command.hasTerminal,
        },
  );
}
