/**
 * The one table of Hotcell's errors. An error means that Hotcell failed; the end of the user's program is an
 * outcome, never an error.
 *
 * `retry` is the advice to a caller, often a model: `never` with the same input, `later` with the same input, `new-session` after opening another session.
 */
export const ERROR_CODES = {
  invalid_argument: {
    httpStatus: 400,
    exitCode: 64,
    retry: 'never',
    means: 'an option or argument has an invalid value',
  },
  unknown_language: {
    httpStatus: 400,
    exitCode: 64,
    retry: 'never',
    means: 'there is no language of that name',
  },
  code_too_large: { httpStatus: 413, exitCode: 65, retry: 'never', means: 'the code is larger than the limit' },
  bad_path: {
    httpStatus: 400,
    exitCode: 65,
    retry: 'never',
    means: 'a path is outside the workspace, is a symbolic link, or is not a regular file',
  },
  file_not_found: { httpStatus: 404, exitCode: 66, retry: 'never', means: 'there is no such file in the workspace' },
  file_exists: {
    httpStatus: 409,
    exitCode: 73,
    retry: 'never',
    means: 'the file already exists, and the call does not allow replacing it',
  },
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
    means: 'a file operation failed in the operating system of the sandbox',
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
  network_denied: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'the requested network is more than the operator allows',
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
    means: 'one of your open sessions already has that id or name',
  },
  session_closed: { httpStatus: 410, exitCode: 69, retry: 'new-session', means: 'the session is closed' },
  execution_not_found: {
    httpStatus: 404,
    exitCode: 66,
    retry: 'never',
    means: 'you have no execution of that id, or its result was dropped',
  },
  session_busy: { httpStatus: 409, exitCode: 75, retry: 'later', means: 'the session is already running an execution' },
  sandbox_lost: {
    httpStatus: 502,
    exitCode: 69,
    retry: 'new-session',
    means: 'the sandbox of the session ended unexpectedly',
  },
  guest_misbehaved: {
    httpStatus: 502,
    exitCode: 70,
    retry: 'new-session',
    means: 'the guest broke the protocol; its sandbox was killed',
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
    means: 'the kernel ended before it replied; its variables are lost, files are kept',
  },
  variable_not_found: { httpStatus: 404, exitCode: 66, retry: 'never', means: 'there is no variable of that name' },
  evaluation_failed: {
    httpStatus: 422,
    exitCode: 65,
    retry: 'never',
    means: 'an expression raised, or data does not have the given format',
  },
  answer_timeout: {
    httpStatus: 504,
    exitCode: 75,
    retry: 'later',
    means: 'the kernel took too long to reply and was interrupted; its variables are kept',
  },
  package_missing: {
    httpStatus: 501,
    exitCode: 69,
    retry: 'never',
    means: 'a required package is not installed in the sandbox',
  },
  install_denied: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'you may not install packages',
  },
  packages_conflict: {
    httpStatus: 422,
    exitCode: 65,
    retry: 'never',
    means: 'the requested packages do not exist, or cannot be installed together',
  },
  install_failed: {
    httpStatus: 502,
    exitCode: 69,
    retry: 'later',
    means: 'packages could not be fetched or built',
  },
  package_refused: {
    httpStatus: 422,
    exitCode: 65,
    retry: 'never',
    means:
      'a package contains a file that is not allowed in a sandbox: a link that leads out of it, a device or a setuid program',
  },
  driver_unavailable: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'never',
    means: 'the requested isolation does not work on this host',
  },
  isolation_too_weak: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'never',
    means: 'no isolation on this host is as strong as the required minimum',
  },
  not_persistent: {
    httpStatus: 400,
    exitCode: 64,
    retry: 'never',
    means: 'the isolation does not support persistent sessions',
  },
  image_missing: {
    httpStatus: 503,
    exitCode: 69,
    retry: 'never',
    means: 'the container image does not exist on this host',
  },
  engine_failed: {
    httpStatus: 502,
    exitCode: 69,
    retry: 'later',
    means: 'the container engine refused a request or did not respond',
  },
  server_misbehaved: {
    httpStatus: 502,
    exitCode: 76,
    retry: 'never',
    means: 'the server of --server redirected, stalled, or sent an invalid response',
  },
  start_failed: { httpStatus: 502, exitCode: 69, retry: 'later', means: 'a sandbox could not be started' },
  start_timeout: { httpStatus: 504, exitCode: 69, retry: 'later', means: 'a sandbox was not ready in time' },
  too_many_sessions: { httpStatus: 429, exitCode: 75, retry: 'later', means: 'the limit of open sessions is reached' },
  too_much_memory: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'the memory limits of your open sessions add up to your maximum',
  },
  too_many_executions: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'too many of your executions are running or queued',
  },
  too_many_connections: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'you have too many active connections',
  },
  too_much_in_flight: {
    httpStatus: 429,
    exitCode: 75,
    retry: 'later',
    means: 'your calls in flight, or your unread responses, have reached the limit',
  },
  unauthorized: { httpStatus: 401, exitCode: 77, retry: 'never', means: 'a token is missing or invalid' },
  forbidden: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'the host name, the origin or the proxy of the request is not allowed',
  },
  link_invalid: {
    httpStatus: 403,
    exitCode: 77,
    retry: 'never',
    means: 'the signature of a link to a file is invalid',
  },
  link_expired: { httpStatus: 410, exitCode: 77, retry: 'never', means: 'a link to a file has expired' },
  not_found: { httpStatus: 404, exitCode: 66, retry: 'never', means: 'there is nothing at that URL' },
  method_not_allowed: {
    httpStatus: 405,
    exitCode: 64,
    retry: 'never',
    means: 'the URL does not support that HTTP method',
  },
  request_too_large: { httpStatus: 413, exitCode: 65, retry: 'never', means: 'a request is larger than the limit' },
  too_slow: {
    httpStatus: 408,
    exitCode: 75,
    retry: 'later',
    means: 'the client sent a request or read a response too slowly',
  },
  shutting_down: {
    httpStatus: 503,
    exitCode: 75,
    retry: 'later',
    means: 'the server is shutting down and accepts no new work',
  },
  cancelled: {
    httpStatus: 499,
    exitCode: 130,
    retry: 'later',
    means: 'the caller cancelled the request before it started',
  },
  not_offered: {
    httpStatus: 501,
    exitCode: 69,
    retry: 'never',
    means: 'the guest or the host does not support the operation',
  },
  internal: { httpStatus: 500, exitCode: 70, retry: 'later', means: 'a bug in Hotcell' },
} as const satisfies Record<string, ErrorEntry>;

export interface ErrorEntry {
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly retry: Retry;
  readonly means: string;
}

export type Retry = 'never' | 'later' | 'new-session';
export type ErrorCode = keyof typeof ERROR_CODES;
