/** Hotcell as a library: `import { openHotcell } from 'hotcell'`. */

export type {
  CallOptions,
  ManagedCommand,
  ManagedExecution,
  ManagedSession,
  OpenRequest,
  Owner,
  OwnerQuotas,
  SessionDirectory,
} from './directory/directory.ts';
export { anonymousOwner, localOwner, tokenOwner } from './directory/owner.ts';
export { ERROR_CODES, type ErrorCode, type Retry } from './errors/codes.ts';
export { HotcellError } from './errors/hotcell-error.ts';
export type { Command, CommandControl, CommandOptions, SignalName, TerminalSize } from './execution/command.ts';
export type {
  Completion,
  CompletionMatch,
  CursorOptions,
  Inspection,
  QuestionOptions,
} from './execution/completion.ts';
export type { ExecutionEvent } from './execution/events.ts';
export type { Execution, ExecutionOptions, PartialOutput } from './execution/execution.ts';
export type { Turn } from './execution/lanes.ts';
export type { LanguageStatus } from './execution/language-status.ts';
export type {
  Artifact,
  Display,
  ExecutionResult,
  OutputPart,
  Representation,
  Truncation,
  Value,
  VariableChanges,
} from './execution/result.ts';
export type { SessionState } from './execution/session-state.ts';
export type {
  SessionVariables,
  VariableFormat,
  VariableItem,
  VariableList,
  VariableListOptions,
  VariablePage,
  VariablePageOptions,
  VariableSetOptions,
  VariableSummary,
  VariableView,
} from './execution/variables.ts';
export type { WriteMode } from './guest/files.ts';
export type { FileEntry } from './guest/messages.ts';
export type { Recipe, RecipeInput } from './languages/recipe.ts';
export type {
  Hotcell,
  HotcellOptions,
  HotcellServer,
  OpenOptions,
  ServerOptions,
  Session,
  SessionFiles,
} from './main.ts';
export { openHotcell, openServer } from './main.ts';
export type { NetworkSetting, Refusal, RefusalReason } from './network/contract.ts';
export type { RefusedConnections } from './network/refused-connections.ts';
export type {
  CodeCell,
  Notebook,
  NotebookCell,
  NotebookOutput,
  NotebookSource,
  TextCell,
} from './notebooks/nbformat.ts';
export type {
  CellEnd,
  CellResult,
  NotebookOptions,
  NotebookResult,
  NotebookRun,
  RunningCell,
} from './notebooks/run.ts';
export { notebookText } from './notebooks/write.ts';
export type { Probe } from './sandbox/driver.ts';
export type {
  DriverName,
  Enforcement,
  Isolation,
  IsolationRequest,
  LimitEnforcement,
  PassedOver,
} from './sandbox/isolation.ts';
export type { InterruptionReason, KernelState, Outcome, Raised, StackFrame } from './sandbox/outcome.ts';
export type { Limits } from './sandbox/spec.ts';
export type { MountRequest } from './sessions/mounts.ts';
export type { SessionNetworkSetting } from './sessions/session.ts';
