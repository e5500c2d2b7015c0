import * as z from 'zod';
import type { Config } from '../config/schema.ts';
import type { SessionDirectory } from '../directory/directory.ts';
import type { Shares } from './in-turn.ts';

/** What the routes below `/run` have in common. */
export interface RunRouteOptions extends Shares {
  readonly config: Config;
  readonly sessions: SessionDirectory;
  readonly stallMs: number;
}

/** How often a stream says that it is alive. */
export const ALIVE_MS = 15_000;

/** Columns or rows of a terminal. */
export const terminalCells = z.number().int().min(1).max(1_000);
