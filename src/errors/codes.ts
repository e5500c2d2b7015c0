/**
 * The one table of Hotcell's errors. An error means that Hotcell could not do its work; how a program of the user's ended is an
 * outcome, never an error.
 *
 * `retry` is the advice to a caller, often a model: `never` with the same input, `later` as it is, `new-session` after opening another session.
 */
export const ERROR_CODES = {
  invalid_argument: {
    httpStatus: 400,
    exitCode: 64,
    retry: 'never',
    means: 'an option or argument has a value that is not allowed',
  },
  unknown_language: {
    httpStatus: 400,
    exitCode: 64,
    retry: 'never',
    means: 'no language of that name is known',
  },
  code_too_large: { httpStatus: 413, exitCode: 65, retry: 'never', means: 'the code is larger than the limit' },
  bad_path: {
    httpStatus: 400,
    exitCode: 65,
    retry: 'never',
    means: 'a path leaves the workspace, is a link, or is not a regular file',
  },
  file_not_found: { httpStatus: 404, exitCode: 66, retry: 'never', means: 'there is no such file in the workspace' },
  file_exists: { httpStatus: 409, exitCode: 73, retry: 'never', means: 'the file is there and was not to be replaced' },
  file_too_large: {
    httpStatus: 413,
    exitCode: 65,
    retry: 'never',
    means: 'the file is larger than the limit, or than the caller allowed',
  },
  disk_full: { httpStatus: 507, exitCode: 73, retry: 'never', means: "the sandbox's disk limit is reached" },
  file_failed: {
    httpStatus: 500,
    exitCode: 74,
    retry: 'later',
    means: 'the operating system inside the sandbox refused a file operation',
  },
  host_path_denied: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'a file of the host may not be copied into a sandbox',
  },
  mount_denied: { httpStatus: 403, exitCode: 77, retry: 'never', means: 'a host folder may not be mounted' },
  image_denied: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'you may not open a session with that container image',
  },
  session_not_found: {
    httpStatus: 404,
    exitCode: 66,
    retry: 'new-session',
    means: 'you have no session of that id or name',
  },
  session_exists: {
    httpStatus: 409,
    exitCode: 73,
    retry: 'never',
    means: 'one of your open sessions has that id or name already',
  },
  session_closed: { httpStatus: 410, exitCode: 69, retry: 'new-session', means: 'the session is closed' },
  execution_not_found: {
    httpStatus: 404,
    exitCode: 66,
    retry: 'never',
    means: 'you have no execution of that id, or it is no longer remembered',
  },
  session_busy: { httpStatus: 409, exitCode: 75, retry: 'later', means: 'the session runs an execution already' },
  sandbox_lost: { httpStatus: 502, exitCode: 69, retry: 'new-session', means: 'the sandbox ended under the session' },
  guest_misbehaved: {
    httpStatus: 502,
    exitCode: 70,
    retry: 'new-session',
    means: 'the guest broke the protocol; its sandbox was ended',
  },
  kernel_unavailable: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'new-session',
    means: 'no kernel could be started in the sandbox',
  },
  kernel_lost: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'later',
    means: 'the kernel ended before it had answered; its variables are gone, files are not',
  },
  variable_not_found: { httpStatus: 404, exitCode: 66, retry: 'never', means: 'there is no variable of that name' },
  evaluation_failed: {
    httpStatus: 422,
    exitCode: 65,
    retry: 'never',
    means: 'an expression raised, or bytes are not what they were said to be',
  },
  answer_timeout: {
    httpStatus: 504,
    exitCode: 75,
    retry: 'later',
    means: 'the kernel took too long to answer and was stopped; its variables are kept',
  },
  package_missing: {
    httpStatus: 501,
    exitCode: 69,
    retry: 'never',
    means: 'a package that this needs is not installed in the sandbox',
  },
  driver_unavailable: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'never',
    means: 'the isolation that was asked for does not work on this host',
  },
  isolation_too_weak: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'never',
    means: 'nothing on this host reaches the least isolation that was asked for',
  },
  not_persistent: {
    httpStatus: 400,
    exitCode: 64,
    retry: 'never',
    means: 'the isolation cannot hold a session that outlives the server',
  },
  image_missing: { httpStatus: 503, exitCode: 69, retry: 'never', means: 'the container image is not there' },
  engine_failed: {
    httpStatus: 502,
    exitCode: 69,
    retry: 'later',
    means: 'the container engine refused or did not answer',
  },
  server_misbehaved: {
    httpStatus: 502,
    exitCode: 76,
    retry: 'never',
    means: 'the server that was named with --server redirected, stood still, or sent what no Hotcell sends',
  },
  start_failed: { httpStatus: 502, exitCode: 69, retry: 'later', means: 'a sandbox could not be started' },
  start_timeout: { httpStatus: 504, exitCode: 69, retry: 'later', means: 'a sandbox was not ready in time' },
  too_many_sessions: { httpStatus: 429, exitCode: 75, retry: 'later', means: 'the limit of sessions is reached' },
  too_much_memory: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'the memory limits of your open sessions add up to all that you may have',
  },
  too_many_executions: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'too many of your executions run or wait already',
  },
  too_many_connections: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'too many of your connections are at work already',
  },
  too_much_in_flight: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'your calls that are not answered yet, or your answers that are not read yet, are all that you may have',
  },
  unauthorized: { httpStatus: 401, exitCode: 77, retry: 'never', means: 'a token is needed, or is not valid' },
  forbidden: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'the request came under a name, from a page or through a proxy that the server does not know',
  },
  link_invalid: { httpStatus: 403, exitCode: 77, retry: 'never', means: 'a link to a file was changed or never ours' },
  link_expired: { httpStatus: 410, exitCode: 77, retry: 'never', means: 'the time of a link to a file is over' },
  not_found: { httpStatus: 404, exitCode: 66, retry: 'never', means: 'there is nothing at that address' },
  method_not_allowed: { httpStatus: 405, exitCode: 64, retry: 'never', means: 'that cannot be done at that address' },
  request_too_large: { httpStatus: 413, exitCode: 65, retry: 'never', means: 'a request is larger than the limit' },
  too_slow: {
    httpStatus: 408,
    exitCode: 75,
    retry: 'later',
    means: 'the sender or the reader of a request stood still, or nearly',
  },
  shutting_down: { httpStatus: 503, exitCode: 75, retry: 'later', means: 'the server takes no new work: it is ending' },
  cancelled: {
    httpStatus: 499,
    exitCode: 130,
    retry: 'later',
    means: 'the caller withdrew the request before it had begun',
  },
  not_offered: { httpStatus: 501, exitCode: 69, retry: 'never', means: 'the guest or the host does not serve that' },
  internal: { httpStatus: 500, exitCode: 70, retry: 'later', means: 'a fault in Hotcell' },
} as const satisfies Record<string, ErrorEntry>;

export interface ErrorEntry {
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly retry: Retry;
  readonly means: string;
}

export type Retry = 'never' | 'later' | 'new-session';
export type ErrorCode = keyof typeof ERROR_CODES;
