import { randomBytes } from 'node:crypto';
import type { CodeSandboxSettings } from '../../../config/profiles/code-sandbox.ts';
import type { ManagedSession } from '../../../directory/directory.ts';
import type { ExecutionResult } from '../../../execution/result.ts';
import { tracebackText } from '../../../execution/traceback-parts.ts';
import type { Outcome } from '../../../sandbox/outcome.ts';
import { exitCodeOfOutcome, outcomeSentence } from '../../../sandbox/outcome-table.ts';
import type { FileLinks } from '../../deps.ts';
import { type Artifact, artifactOf, namable } from './artifacts.ts';
import { clipBytes } from './clip-bytes.ts';

export interface RunReply {
  readonly session_id: string;
  readonly run_id: string;
  readonly exit_code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdout_truncated: boolean;
  readonly stderr_truncated: boolean;
  readonly artifacts: Artifact[];
  readonly duration_ms: number;
}

/** Exit code of a timeout in mcp-code-sandbox, where a shell uses 124. */
const TIMED_OUT = -1;

/** Returns an id such as `run_20260131T120000Z_1a2b`. */
export function newRunId(now: Date): string {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  return `run_${time}_${randomBytes(2).toString('hex')}`;
}

/** The result of a run in the form of a process: an exit code, with the reason on stderr. Files are always included. */
export async function runReply(
  managed: ManagedSession,
  { runId, result }: { readonly runId: string; readonly result: ExecutionResult },
  { maxOutputBytes }: Pick<CodeSandboxSettings, 'maxOutputBytes'>,
  links: FileLinks,
): Promise<RunReply> {
  const { truncation, artifacts, durationMs } = result;
  const stdout = clipBytes(result.stdout, maxOutputBytes);
  const stderr = clipBytes(inLines([result.stderr, ...lastWords(result)]), maxOutputBytes);
  return {
    session_id: managed.id,
    run_id: runId,
    exit_code: result.outcome.kind === 'timed-out' ? TIMED_OUT : exitCodeOfOutcome(result.outcome),
    stdout: stdout.text,
    stderr: stderr.text,
    stdout_truncated: stdout.isCut || (truncation?.stdoutDroppedBytes ?? 0) > 0,
    stderr_truncated: stderr.isCut || (truncation?.stderrDroppedBytes ?? 0) > 0,
    artifacts: await Promise.all(namable(artifacts).map((file) => artifactOf(managed, file, links))),
    duration_ms: Math.round(durationMs),
  };
}

function lastWords({ outcome, files }: ExecutionResult): string[] {
  return [...(files === 'lost' ? ['The sandbox was lost, including the files in /mnt/data.'] : []), ...endOf(outcome)];
}

/** The outcome as text, in the words of mcp-code-sandbox where its clients parse them. */
function endOf(outcome: Outcome): string[] {
  if (outcome.kind === 'exited' || outcome.kind === 'sandbox-lost') return []; // `sandbox-lost` is in the text about files
  if (outcome.kind === 'timed-out') return [`Execution timed out after ${outcome.limitMs / 1000}s`];
  if (outcome.kind === 'raised') {
    return [...tracebackText(outcome).split('\n'), ...(outcome.hint === undefined ? [] : [`Hint: ${outcome.hint}`])];
  }
  const sentence = outcomeSentence(outcome);
  return sentence === undefined ? [] : [`${sentence[0]!.toUpperCase()}${sentence.slice(1)}`];
}

/**
 * Joins the parts; each starts on a new line. SECURITY: looks at the last part only. To look at the end of a text that
 * was put together copies all of it, for each line of a traceback.
 */
function inLines(parts: readonly string[]): string {
  const joined: string[] = [];
  let isLineStart = true;
  for (const part of parts) {
    if (!isLineStart) joined.push('\n');
    joined.push(part);
    isLineStart = part === '' || part.endsWith('\n');
  }
  return joined.join('');
}
