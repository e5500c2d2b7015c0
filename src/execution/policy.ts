import type { Config } from '../config/schema.ts';
import { allLanguages } from '../languages/table.ts';
import type { ExecutionPolicy } from './execution.ts';

const DISPLAY_BYTES = 32 * 1_048_576;

/** The limits and defaults that the configuration sets for every execution. */
export function policyOf(config: Config): ExecutionPolicy {
  return {
    defaultTimeoutMs: config.timeoutMs,
    maxTimeoutMs: config.maxTimeoutMs,
    maxPausedMs: config.maxPausedMs,
    maxCodeBytes: config.maxCodeBytes,
    languages: allLanguages(config.recipes),
    output: {
      headBytes: Math.floor(config.outputBytes / 2),
      tailBytes: Math.ceil(config.outputBytes / 2),
      logBytes: config.logBytes,
      displayBytes: DISPLAY_BYTES,
    },
  };
}
