import * as z from 'zod';
import { checkCommand, MOST_FOLDER_CHARS, MOST_LINE_CHARS } from '../../execution/check-command.ts';
import { defineTool } from '../define-tool.ts';
import { executionOutput } from '../present/execution-output.ts';
import { runInSession } from '../run-in-session.ts';
import { backgroundArgument, environmentArgument, sessionFor, timeoutArgument } from './run-arguments.ts';
import { sessionArgument } from './session-argument.ts';

export const runCommand = defineTool({
  name: 'run_command',
  title: 'Run a shell command',
  description: `Runs a command line in the sandbox's shell (bash, or sh if there is no bash): pipes, &&, redirections and globs work. Returns the output and the exit code; a nonzero exit code is a result, not an error.

Each command runs in a new shell in /workspace (or cwd), beside other commands and code that run in the session. For a shell that keeps its directory and variables, use run_code with language "bash". Sandbox and files are shared with run_code. There is no network and no access to the host. A command that reads input gets end of file.

Examples:
  {"command": "ls -la && head -3 data/*.csv | cut -d, -f1-4"}
  {"command": "python -m pytest -q", "cwd": "project", "environment": {"PYTHONPATH": "src"}}
  {"command": "tar xzf archive.tar.gz && make -j2", "timeout_ms": 600000}`,
  input: z.strictObject({
    command: z.string().min(1).max(MOST_LINE_CHARS).describe('Command line. Put a longer script into a file'),
    cwd: z.string().min(1).max(MOST_FOLDER_CHARS).default('.').describe('Working directory, relative to /workspace'),
    environment: environmentArgument,
    session_id: sessionArgument,
    timeout_ms: timeoutArgument,
    background: backgroundArgument,
  }),
  output: executionOutput,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  isLong: true,
  async handler({ command, cwd, environment, session_id, timeout_ms, background }, call) {
    checkCommand(command, { cwd, environment }); // before a session is opened
    const managed = await sessionFor(call, 'run_command', { session_id, timeout_ms });
    const timeout = timeout_ms === undefined ? {} : { timeoutMs: timeout_ms };
    const execution = managed.command(command, { cwd, environment, via: 'run_command', ...timeout });
    const reply = await runInSession(managed, execution, background, call);
    const { outcome } = reply.structured;
    return outcome === 'ok' ? { ...reply, structured: { ...reply.structured, exit_code: 0 } } : reply;
  },
});
