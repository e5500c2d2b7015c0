import { HotcellError } from '../errors/hotcell-error.ts';
import { COMMAND, languageNamed } from '../languages/table.ts';
import { runEnvironment } from './check-environment.ts';
import type { CommandRequest } from './command-run.ts';
import type { ExecutionPolicy, Run } from './execution.ts';
import type { KernelRun } from './run.ts';

const MOST_FILENAME_CHARS = 4_096;

/** Checks a run. Throws `code_too_large` or `invalid_argument`, with the names of the caller's arguments. */
export function checkRun({ id, code, options, command }: Run, name: string, policy: ExecutionPolicy): KernelRun {
  const request = command?.request();
  const text = request === undefined ? code : commandText(request);
  requireCodeSize(text, policy);
  const bytes = Buffer.from(text, 'utf8');
  const filename = options.filename ?? name;
  if (filename.length > MOST_FILENAME_CHARS || filename.includes('\0')) {
    throw new HotcellError('invalid_argument', `filename: has a NUL or more than ${MOST_FILENAME_CHARS} characters`, {
      remedy: 'Use a short name: it is only displayed.',
    });
  }
  const timeoutMs = options.timeoutMs ?? policy.defaultTimeoutMs;
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0 || timeoutMs > policy.maxTimeoutMs) {
    throw new HotcellError('invalid_argument', `timeoutMs: ${timeoutMs} is not between 1 and ${policy.maxTimeoutMs}`, {
      remedy: 'Give a positive number of milliseconds.',
    });
  }
  const environment = request === undefined ? runEnvironment(options.environment) : undefined;
  return {
    executionId: id,
    code: bytes,
    language:
      request === undefined
        ? languageNamed(policy.languages, options.language ?? 'python')
        : { ...COMMAND, needs: 'line' in request.program ? ['sh'] : [] },
    filename,
    ...(options.tracebackLocals === true ? { tracebackLocals: true } : {}),
    ...(environment === undefined ? {} : { environment }),
    timeoutMs,
    signal: options.signal,
    ...(command === undefined || request === undefined ? {} : { command: { ...command, members: membersOf(request) } }),
  };
}

/** The members that only the command's own kernel reads. They may exceed the size of a frame's head. */
function commandText({ program, cwd, environment }: CommandRequest): string {
  return JSON.stringify({ ...program, cwd, environment }, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}

function membersOf({ stdin, terminal }: CommandRequest) {
  return { stdin, ...(terminal === undefined ? {} : { terminal }) };
}

/** Throws `code_too_large`. Servers call it before a call waits for its session, so that queued calls are small. */
export function requireCodeSize(code: string, { maxCodeBytes }: Pick<ExecutionPolicy, 'maxCodeBytes'>): void {
  const sizeBytes = Buffer.byteLength(code);
  if (sizeBytes <= maxCodeBytes) return;
  throw new HotcellError('code_too_large', `the code has ${sizeBytes} bytes; the limit is ${maxCodeBytes}`, {
    remedy: 'Write large data to a file of the workspace and read it from the code.',
    data: { sizeBytes, limitBytes: maxCodeBytes },
  });
}
