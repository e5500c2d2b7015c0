import * as z from 'zod';
import { checkCommand, MOST_FOLDER_CHARS, MOST_LINE_CHARS } from '../../execution/check-command.ts';
import { defineTool } from '../define-tool.ts';
import { executionFacts, executionOutput } from '../present/execution-output.ts';
import { runInSession } from '../run-in-session.ts';
import { backgroundArgument, environmentArgument, planFor, sessionFor, timeoutArgument } from './run-arguments.ts';
import { sessionArgument } from './session-argument.ts';

export const runCommand = defineTool({
  name: 'run_command',
  title: 'Run a shell command',
  description: `Runs a command line in the sandbox's shell: pipes, &&, redirections and globs work. Returns the output and the exit code; a nonzero exit code is a result, not an error.

Each command has a new shell in /workspace and runs beside other commands and code of the session, on the same files. For a shell that keeps its directory and variables, use run_code with language "bash". A command that reads input gets end of file.

  {"command": "ls -la && head -3 data/*.csv | cut -d, -f1-4"}
  {"command": "python -m pytest -q", "cwd": "project", "environment": {"PYTHONPATH": "src"}}
  {"command": "tar xzf archive.tar.gz && make -j2", "timeout_ms": 600000}`,
  input: z.strictObject({
    command: z.string().min(1).max(MOST_LINE_CHARS).describe('Command line'),
    cwd: z.string().min(1).max(MOST_FOLDER_CHARS).default('.').describe('Working directory in /workspace'),
    environment: environmentArgument,
    session_id: sessionArgument,
    timeout_ms: timeoutArgument,
    background: backgroundArgument,
  }),
  output: executionOutput,
  facts: executionFacts,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  isLong: true,
  async handler({ command, cwd, environment, session_id, timeout_ms, background }, call) {
    checkCommand(command, { cwd, environment }); // before a session is opened
    const managed = await sessionFor(call, 'run_command', { session_id, timeout_ms });
    const plan = planFor(call, { timeout_ms, background });
    const options = { cwd, environment, via: 'run_command', timeoutMs: plan.timeoutMs };
    const reply = await runInSession(managed, managed.command(command, options), plan, call);
    const { outcome } = reply.structured;
    return outcome === 'ok' ? { ...reply, structured: { ...reply.structured, exit_code: 0 } } : reply;
  },
});
