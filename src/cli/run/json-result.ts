import type { ExecutionResult } from '../../execution/result.ts';

/** A result as one JSON document: figures in base64, and no path of a log that goes with the session. */
export function jsonResult(result: ExecutionResult, exitCode: number, saved: readonly string[] | undefined) {
  const { displays, truncation, ...rest } = result;
  return {
    exitCode,
    ...rest,
    displays: displays.map(({ mediaType, data }) => ({ mediaType, data: data.toString('base64') })),
    ...(truncation === undefined ? {} : { truncation: { ...truncation, logPath: undefined } }),
    ...(saved === undefined ? {} : { saved }),
  };
}
