import { loadConfig, tokenFromEnvironment } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { errorText } from '../../errors/present.ts';
import { allLanguages } from '../../languages/table.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { saidByServer } from '../../lib/said-inside.ts';
import type { Outcome } from '../../sandbox/outcome.ts';
import { exitCodeOfOutcome } from '../../sandbox/outcome-table.ts';
import type { NamedPlace } from '../named-place.ts';
import { type Outputs, standardOutputs } from '../output.ts';
import { shownName } from '../print.ts';
import {
  exitCodeWith,
  holdArtifactsFolder,
  type Made,
  type Saved,
  saveArtifacts,
  savedLines,
  unsavedText,
} from './artifacts.ts';
import { endingText, quotedOutcome, refusedText } from './ending.ts';
import { installFirst } from './install-first.ts';
import { listenForInterrupts } from './interrupts.ts';
import { isNotebook, languageOf } from './language.ts';
import { showLive } from './live-output.ts';
import { type RunFlags, type RunOptions, runOptions } from './options.ts';
import { EXIT_NO_READER, watchReader } from './reader-gone.ts';
import {
  connectRemote,
  parseExecution,
  parseInstallation,
  parseSession,
  type RemoteAnswer,
  type RemoteExecution,
  type RemoteHotcell,
} from './remote-hotcell.ts';
import { readSource } from './source.ts';
import { wantedPackages } from './wanted-packages.ts';

/** Timeout of an installation. The server has a shorter one for each of its steps, and says that it works on it. */
const INSTALL_MS = 3_600_000;

/**
 * `hotcell run --server`: runs the program in a sandbox of a server. With `--session` the session stays open for later
 * runs; otherwise it ends with the program.
 */
export async function runOnServer(file: string, server: string, flags: RunFlags): Promise<number> {
  const outputs = standardOutputs();
  const options = runOptions(flags);
  if (flags.mount !== undefined) throw notThere('--mount', "A server's folders are mounted by its own configuration.");
  if (isNotebook(file)) throw notThere(file, 'Notebooks run locally only: remove --server.');
  // SECURITY: a session that is open already may have mounts of this machine, and code in it may have put links there.
  const writable = flags.session === undefined ? [] : 'unknown';
  const source = await readSource(file, { code: flags.code, writable });
  using folder = flags.saveArtifacts === undefined ? undefined : holdArtifactsFolder(flags.saveArtifacts, { writable });
  const language = languageOf(file, source.code, flags.language, allLanguages(loadConfig().recipes));
  const readerGone = watchReader();
  let session: string | undefined;
  const close = async () => {
    if (session !== undefined && flags.session === undefined)
      await remote.call('close_session', { session_id: session });
  };
  using interrupts = listenForInterrupts(close);
  await using remote = await connectRemote(server, flags.token ?? tokenFromEnvironment(), packageVersion());
  try {
    session = await sessionFor(remote, server, flags, options);
    const packages = wantedPackages(flags.with, { code: source.code, language });
    const install = async () => {
      const wanted = { session_id: session, packages };
      const ending = AbortSignal.any([interrupts.signal, readerGone]);
      const calling = remote.call('install_packages', wanted, { signal: ending, timeoutMs: INSTALL_MS });
      const { data } = await calling.catch((error: unknown) => {
        throw ending.aborted ? new HotcellError('cancelled', 'the installation was cancelled') : error;
      });
      return parseInstallation(data, server);
    };
    await installFirst(packages, flags.json ? undefined : outputs.stderr, install);
    const { timeoutMs, environment } = options;
    const run = await remote.run(session, {
      ...{ code: source.code, language, filename: shownName(source.filename).slice(-255).toWellFormed() },
      ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
      ...(environment === undefined ? {} : { environment }),
    });
    const execution = { execution_id: run.executionId, session_id: session };
    whenAborted(AbortSignal.any([interrupts.signal, readerGone]), () => {
      // Output that the program prints on interrupt is still read to its end.
      remote.call('get_execution', { ...execution, cancel: true }).catch(() => {});
    });
    if (!flags.json) await showLive(run, outputs);
    else for await (const _ of run);
    const outcome = run.outcome();
    if (readerGone.aborted) return EXIT_NO_READER;
    const answer = await remote.call('get_execution', execution);
    const result = parseExecution(answer.data, server);
    const made = madeOf(result, answer.pictures);
    const saved = await savedOf(remote, session, made, folder);
    const exitCode = exitCodeWith(exitCodeOfOutcome(outcome), saved);
    if (flags.json) await outputs.stdout.json({ exitCode, ...result, ...saved });
    else {
      const unsaved = saved === undefined && flags.session === undefined ? unsavedText(made) : undefined;
      const notes = flags.session === undefined ? [] : stateNotes(outcome, result);
      await tell(outcome, notes, saved, outputs);
      // Of a session that stays open, the notes of the server have it.
      if (result.network !== undefined && flags.session === undefined)
        await outputs.stderr.say(refusedText(result.network));
      if (unsaved !== undefined) await outputs.stderr.say(unsaved);
    }
    return exitCode;
  } catch (error) {
    const exitCode = interrupts.exitCode();
    if (exitCode !== undefined) return exitCode;
    throw error;
  } finally {
    await close().catch((thrown: unknown) => outputs.stderr.say(errorText(thrown)));
  }
}

function whenAborted(signal: AbortSignal, act: () => void): void {
  if (signal.aborted) act();
  else signal.addEventListener('abort', act, { once: true });
}

/** The session with that name, opened if needed. */
async function sessionFor(
  remote: RemoteHotcell,
  server: string,
  flags: RunFlags,
  options: RunOptions,
): Promise<string> {
  const { memoryBytes, cpus } = options.open.limits ?? {};
  const limits = {
    ...(memoryBytes === undefined ? {} : { memory_mb: memoryBytes / 1_048_576 }),
    ...(cpus === undefined ? {} : { cpus }),
  };
  const request = {
    ...(flags.session === undefined ? {} : { name: flags.session }),
    ...(flags.isolation === undefined ? {} : { isolation: flags.isolation }),
    ...(flags.image === undefined ? {} : { image: flags.image }),
    ...(flags.network === undefined ? {} : { network: flags.network }),
    ...(flags.service === undefined ? {} : { services: flags.service }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
  try {
    const { data } = await remote.call('open_session', request);
    return parseSession(data, server);
  } catch (error) {
    if (!(error instanceof HotcellError) || error.code !== 'session_exists') throw error;
    if (flags.network !== undefined)
      await remote.call('set_network', { session_id: flags.session, network: flags.network });
    return flags.session!;
  }
}

async function savedOf(
  remote: RemoteHotcell,
  session: string,
  made: Made,
  folder: NamedPlace | undefined,
): Promise<Saved | undefined> {
  if (folder === undefined) return undefined;
  return saveArtifacts(made, { stream: (path) => remote.stream(session, path) }, folder);
}

/**
 * Maximum of files, equal to the guest's limit. SECURITY: a hostile server could name millions, each a file of the
 * host.
 */
const MOST_FILES = 1_000;

function madeOf({ files }: RemoteExecution, pictures: RemoteAnswer['pictures']): Made {
  const artifacts = files.slice(0, MOST_FILES).map(({ path, change, size_bytes, media_type }) => ({
    path,
    change,
    sizeBytes: size_bytes,
    mediaType: media_type,
  }));
  // A saved picture is also among the pictures of the reply; one that was only displayed is nowhere else.
  const isSaved = artifacts.some(({ mediaType }) => mediaType.startsWith('image/'));
  const displays = isSaved ? [] : pictures.map((picture) => ({ representations: [picture] }));
  return { artifacts, displays };
}

/** Hotcell's own messages go to stderr: stdout belongs to the program. */
async function tell(
  outcome: Outcome,
  notes: readonly string[],
  saved: Saved | undefined,
  { stderr }: Outputs,
): Promise<void> {
  const ending = endingText(quotedOutcome(outcome));
  if (ending !== undefined) await stderr.say(ending);
  for (const note of notes.slice(0, MOST_NOTES)) await stderr.say(`hotcell: ${saidByServer(note)}`);
  if (notes.length > MOST_NOTES) await stderr.say(`hotcell: and ${notes.length - MOST_NOTES} more notes of the server`);
  for (const line of saved === undefined ? [] : savedLines(saved)) await stderr.say(line);
}

const MOST_NOTES = 20;

/**
 * Notes about the state of a session that stays open. The first note is about the outcome, which was printed already.
 */
function stateNotes({ kind }: Outcome, { notes }: RemoteExecution): readonly string[] {
  return kind === 'ok' || kind === 'raised' ? notes : notes.slice(1);
}

function notThere(flag: string, remedy: string): HotcellError {
  return new HotcellError('invalid_argument', `${flag} cannot be used with --server`, { remedy });
}
