import type { Tool } from '../define-tool.ts';
import { closeSession } from './close-session.ts';
import { editFile } from './edit-file.ts';
import { getExecution } from './get-execution.ts';
import { inspectVariables } from './inspect-variables.ts';
import { installPackages } from './install-packages.ts';
import { listFiles } from './list-files.ts';
import { listSessions } from './list-sessions.ts';
import { loadFile } from './load-file.ts';
import { openSession } from './open-session.ts';
import { readFile } from './read-file.ts';
import { resetSession } from './reset-session.ts';
import { runCode } from './run-code.ts';
import { runCommand } from './run-command.ts';
import { setNetwork } from './set-network.ts';
import { writeFile } from './write-file.ts';

/** All tools, in the order in which a model needs them. */
export const TOOLS: readonly Tool[] = [
  ...[runCode, runCommand, getExecution],
  ...[writeFile, readFile, editFile, listFiles, loadFile],
  ...[inspectVariables, openSession, setNetwork, installPackages, listSessions, resetSession, closeSession],
];
