/** URIs of files and logs: `hotcell://sessions/{id}/files/{path}` and `hotcell://sessions/{id}/executions/{id}/log`. */

export const FILE_TEMPLATE = 'hotcell://sessions/{session}/files/{+path}';
export const LOG_TEMPLATE = 'hotcell://sessions/{session}/executions/{execution}/log';

export function fileUri(sessionId: string, path: string): string {
  return `hotcell://sessions/${encodeURIComponent(sessionId)}/files/${path.toWellFormed().split('/').map(encodeURIComponent).join('/')}`;
}

export function logUri(sessionId: string, executionId: string): string {
  return `hotcell://sessions/${encodeURIComponent(sessionId)}/executions/${encodeURIComponent(executionId)}/log`;
}

/**
 * Decodes one part of a URI; undefined if that is impossible. SECURITY: decoded only once, so `%252e%252e` stays a
 * strange file name. The guest, which walks the path name by name, decides about `..`, NUL and backslashes.
 */
export function decoded(part: string | readonly string[] | undefined): string | undefined {
  if (typeof part !== 'string') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
