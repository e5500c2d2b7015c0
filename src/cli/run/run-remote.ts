import { loadConfig, tokenFromEnvironment } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { errorText } from '../../errors/present.ts';
import { allLanguages } from '../../languages/table.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { shownName } from '../print.ts';
import { saveArtifacts } from './artifacts.ts';
import { hintLines } from './ending.ts';
import { listenForInterrupts } from './interrupts.ts';
import { languageOf } from './language.ts';
import { isNotebook } from './notebook.ts';
import { type RunFlags, type RunOptions, runOptions } from './options.ts';
import {
  connectRemote,
  parseExecution,
  type RemoteAnswer,
  type RemoteExecution,
  type RemoteHotcell,
} from './remote.ts';
import { readSource } from './source.ts';

/**
 * `hotcell run --server`: the same in a sandbox of a server. What the program prints comes when it has ended. Without `--session` the sandbox ends with
 * the program; with it the session stays, to go on in.
 */
export async function runRemote(file: string, server: string, flags: RunFlags): Promise<number> {
  const options = runOptions(flags);
  if (flags.mount !== undefined) throw notThere('--mount', "A server's folders are mounted by its own configuration.");
  if (isNotebook(file)) throw notThere(file, 'Notebooks run here: leave --server out.');
  const source = await readSource(file);
  using interrupts = listenForInterrupts(async () => {});
  await using remote = await connectRemote(server, flags.token ?? tokenFromEnvironment(), packageVersion());
  const session = await sessionFor(remote, flags, options);
  try {
    const answer = await remote.call(
      'run_code',
      {
        code: source.code,
        session_id: session,
        language: languageOf(file, source.code, flags.language, allLanguages(loadConfig().recipes)),
        ...(options.timeoutMs === undefined ? {} : { timeout_ms: options.timeoutMs }),
      },
      { signal: interrupts.signal },
    );
    const result = parseExecution(answer.data);
    const saved = await savedOf(remote, session, result, answer.pictures, flags);
    const exitCode = exitCodeOf(result);
    if (flags.json)
      process.stdout.write(`${JSON.stringify({ exitCode, ...result, ...(saved && { saved }) }, null, 2)}\n`);
    else tell(result, saved);
    return exitCode;
  } catch (error) {
    if (interrupts.signal.aborted) return 130;
    throw error;
  } finally {
    if (flags.session === undefined) await remote.call('close_session', { session_id: session }).catch(tellOnly);
  }
}

/** The session of that name, opened if there is none. */
async function sessionFor(remote: RemoteHotcell, flags: RunFlags, options: RunOptions): Promise<string> {
  const { memoryBytes, cpus } = options.open.limits ?? {};
  const limits = {
    ...(memoryBytes === undefined ? {} : { memory_mb: memoryBytes / 1_048_576 }),
    ...(cpus === undefined ? {} : { cpus }),
  };
  const request = {
    ...(flags.session === undefined ? {} : { name: flags.session }),
    ...(flags.isolation === undefined ? {} : { isolation: flags.isolation }),
    ...(flags.image === undefined ? {} : { image: flags.image }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
  try {
    const { data } = await remote.call('open_session', request);
    return (data as { session_id: string }).session_id;
  } catch (error) {
    if (error instanceof HotcellError && error.code === 'session_exists') return flags.session!;
    throw error;
  }
}

async function savedOf(
  remote: RemoteHotcell,
  session: string,
  { files }: RemoteExecution,
  pictures: RemoteAnswer['pictures'],
  flags: RunFlags,
): Promise<string[] | undefined> {
  if (flags.saveArtifacts === undefined) return undefined;
  const artifacts = files.map(({ path, change, size_bytes, media_type }) => ({
    path,
    change,
    sizeBytes: size_bytes,
    mediaType: media_type,
  }));
  // A picture that was saved comes as a picture too; one that was only shown is nowhere else.
  const isSaved = artifacts.some(({ mediaType }) => mediaType.startsWith('image/'));
  const displays = isSaved ? [] : pictures.map((picture) => ({ representations: [picture] }));
  return saveArtifacts(
    { artifacts, displays },
    { stream: (path) => remote.stream(session, path) },
    flags.saveArtifacts,
  );
}

function tell(
  { stdout, stderr, error, outcome, notes, omitted }: RemoteExecution,
  saved: readonly string[] | undefined,
): void {
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  if (error !== undefined && !stderr.includes(error.traceback)) process.stderr.write(`${error.traceback}\n`);
  for (const line of hintLines(error?.hint)) process.stderr.write(`${line}\n`);
  if (outcome !== 'ok' && outcome !== 'raised') process.stderr.write(`hotcell: ${outcome}\n`);
  if (omitted !== undefined) {
    const count = omitted.stdout_chars + omitted.stderr_chars;
    process.stderr.write(`hotcell: the server left ${count} characters of output out\n`);
  }
  for (const note of notes) process.stderr.write(`hotcell: ${note}\n`);
  if (saved !== undefined && saved.length > 0)
    process.stderr.write(`hotcell: saved ${saved.map(shownName).join(', ')}\n`);
}

function exitCodeOf({ outcome, exit_code }: RemoteExecution): number {
  return outcome === 'exited' ? (exit_code ?? 1) : EXIT_CODES[outcome ?? 'unavailable'];
}

/** As of a program that ran here. */
const EXIT_CODES = {
  ok: 0,
  raised: 1,
  'timed-out': 124,
  unavailable: 127,
  interrupted: 130,
  'kernel-died': 134,
  'out-of-memory': 137,
} as const;

function tellOnly(thrown: unknown): void {
  process.stderr.write(`${errorText(thrown)}\n`);
}

function notThere(flag: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', `${flag} cannot be used with --server`, { remedy });
}
