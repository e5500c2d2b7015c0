import { HotcellError } from '../errors/hotcell-error.ts';
import type { Command, CommandOptions } from '../execution/command.ts';
import { type Completion, type CursorOptions, complete, type Inspection, inspect } from '../execution/completion.ts';
import { execute } from '../execution/execute.ts';
import type { Execution, ExecutionOptions, ExecutionPolicy } from '../execution/execution.ts';
import { type LanguageStatus, languageStatuses } from '../execution/language-status.ts';
import { observeRuns, type RunCode, type RunObserver } from '../execution/observe-runs.ts';
import type { SessionCore } from '../execution/session-core.ts';
import { startCommand } from '../execution/start-command.ts';
import { type SessionVariables, sessionVariables } from '../execution/variables.ts';
import type { AddedLayer } from '../guest/layers/add.ts';
import { nothing } from '../guest/messages.ts';
import { rethrowAsOurs } from '../guest/refusals.ts';
import type { NetworkSetting } from '../network/contract.ts';
import type { Notebook, NotebookSource } from '../notebooks/nbformat.ts';
import { recordRuns } from '../notebooks/recorded-runs.ts';
import { type NotebookOptions, type NotebookRun, runNotebook } from '../notebooks/run.ts';
import { notebookOfRecord } from '../notebooks/write.ts';
import type { Isolation } from '../sandbox/isolation.ts';
import type { SessionPackages } from './installation.ts';
import { type SessionFiles, sessionFiles } from './session-files.ts';

/** One sandbox with live state. `await using session = await hotcell.open()` closes it at the end of the block. */
export interface Session extends AsyncDisposable, SessionPackages {
  /** The session's id, unique among all sessions of all servers. */
  readonly uniqueId: string;
  readonly isolation: Isolation;
  /**
   * Runs code, in Python unless `language` is set. Iterate over the execution for its output as it comes; await it for
   * the result.
   */
  run(code: string, options?: ExecutionOptions): Execution;
  /** Starts a command beside everything else in the session: a line for the shell, or a program and its arguments. */
  command(line: string | readonly string[], options?: CommandOptions): Command;
  /**
   * Runs the code cells of a notebook (nbformat 4, as JSON text or as the parsed value). Stops at the first cell that fails, unless told to keep going; a
   * cell tagged `raises-exception` may raise.
   */
  runNotebook(notebook: NotebookSource, options?: NotebookOptions): NotebookRun;
  /**
   * Everything that was run in this session, with its outputs, as a notebook for Jupyter. The notebook says what the
   * record could not hold.
   */
  exportNotebook(): Promise<Notebook>;
  /** Every known language, and whether this sandbox has the programs that it needs. */
  languages(): Promise<LanguageStatus[]>;
  /**
   * The last 64 KiB that background processes printed after their execution had ended. It is not part of any
   * execution's output.
   */
  backgroundOutput(): Promise<string>;
  /** Completions at the cursor, from the live namespace. Does not run code of the program. */
  complete(code: string, options?: CursorOptions): Promise<Completion>;
  /** Signature and documentation of the name at the cursor, or undefined. */
  inspect(code: string, options?: CursorOptions): Promise<Inspection | undefined>;
  readonly variables: SessionVariables;
  /** Deletes all variables and ends all processes; files are kept. */
  reset(): Promise<void>;
  readonly files: SessionFiles;
  readonly network: SessionNetworkSetting;
  /**
   * Adds packages of this host to the sandbox, read-only: a folder with `python` (a site directory), `bin` (programs)
   * and `node_modules`, of which each may be absent. Running code can import from them at once. The files must belong to
   * this user, be readable for all, and stay unchanged until the session is closed.
   */
  addLayer(folder: string): Promise<AddedLayer>;
  /**
   * Resolves when no program can reach the sandbox any more. A container without mounts is removed in the background;
   * `hotcell.close()` waits for that.
   */
  close(): Promise<void>;
}

/** The network of a session: `none`, `registries`, `all`, or a list of rules. */
export interface SessionNetworkSetting {
  setting(): NetworkSetting;
  /** Names of the operator's services (`forwards`, `credentials`) that the session may use. */
  services(): readonly string[];
  /**
   * Changes it. When it resolves, connections that are no longer allowed are closed, and executions that begin later
   * have the new environment variables. Rejects with `network_denied` above the ceiling, which the configuration sets.
   */
  set(setting: NetworkSetting): Promise<void>;
}

export interface SessionOptions {
  readonly policy: ExecutionPolicy;
  /** The size limit of the record that `exportNotebook` reads. */
  readonly recordBytes: number;
  /**
   * Observers of every run in addition to that record: a server's audit log and admission. They are called first, so
   * that a refused run is not recorded.
   */
  readonly observers?: readonly RunObserver[];
  /** Installs packages into it. Absent for the sandboxes in which packages are built. */
  readonly packages?: SessionPackages;
}

/**
 * The public session over its core. This is the one place where a run is assembled; the surfaces of a server call
 * `run`.
 */
export function createSession(core: SessionCore, options: SessionOptions): Session & { readonly run: RunCode } {
  const { policy, recordBytes, observers = [], packages = NO_PACKAGES } = options;
  const recorded = recordRuns(recordBytes);
  const run = observeRuns([...observers, recorded.observer], (one) => execute(core, one, policy));
  return {
    uniqueId: core.uniqueId,
    isolation: core.isolation,
    run,
    command: (line, commandOptions) => startCommand(run, line, commandOptions),
    runNotebook: (notebook, notebookOptions) => runNotebook(run, notebook, notebookOptions),
    exportNotebook: async () => notebookOfRecord(recorded.record()),
    languages: () => core.use(({ connection }) => languageStatuses(connection, policy.languages)),
    backgroundOutput: () => core.use(async (live) => live.background()),
    complete: (code, cursorOptions) => complete(core, code, cursorOptions),
    inspect: (code, cursorOptions) => inspect(core, code, cursorOptions),
    variables: sessionVariables(core),
    reset: () =>
      core.use(async ({ connection }) => {
        await connection.request({ type: 'restart' }, nothing).catch(rethrowAsOurs);
      }),
    files: sessionFiles(core),
    network: {
      setting: core.network.setting,
      services: core.network.services,
      set: (setting) => core.network.set(setting),
    },
    addLayer: core.addLayer,
    install: packages.install,
    installations: packages.installations,
    close: core.close,
    [Symbol.asyncDispose]: core.close,
  };
}

const NO_PACKAGES: SessionPackages = {
  install: async () => {
    throw new HotcellError('not_offered', 'packages cannot be installed into this session');
  },
  installations: () => [],
};
