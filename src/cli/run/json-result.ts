import type { ExecutionResult, Representation } from '../../execution/result.ts';
import { isTextType } from '../../lib/text-type.ts';

/**
 * A result as one JSON document: text as text, pictures in base64, without the path of the log, which is removed with
 * the session.
 */
export function jsonResult(result: ExecutionResult, exitCode: number) {
  const { displays, value, truncation, ...rest } = result;
  return {
    exitCode,
    ...rest,
    ...(value === undefined ? {} : { value: withJson(value) }),
    displays: displays.map(withJson),
    ...(truncation === undefined ? {} : { truncation: { ...truncation, logPath: undefined } }),
  };
}

function withJson<T extends { readonly representations: readonly Representation[] }>(shown: T) {
  return { ...shown, representations: shown.representations.map(representation) };
}

function representation({ mediaType, data }: Representation) {
  return isTextType(mediaType)
    ? { mediaType, text: data.toString('utf8') }
    : { mediaType, data: data.toString('base64') };
}
