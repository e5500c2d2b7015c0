import { randomBytes } from 'node:crypto';
import { type CodeSandboxSettings, memoryLimitBytes } from '../../../config/profiles/code-sandbox.ts';
import type { ManagedSession, OpenRequest } from '../../../directory/directory.ts';
import { SESSION_ID } from '../../../directory/open-request.ts';
import { DRIVERS } from '../../../drivers/registry.ts';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import type { ToolCall } from '../../define-tool.ts';
import { DATA_FOLDER } from './artifacts.ts';
import { Failure } from './failures.ts';

const TMP_BYTES = 64 * 1_048_576;

/**
 * Runs work in the session with that id, which is opened if needed. Without an id it runs in a new session; if the work
 * fails or is cancelled, that one is closed, because the client does not know its id.
 */
export async function inSession<T>(
  id: string | null,
  use: Use,
  work: (managed: ManagedSession) => Promise<T>,
): Promise<T> {
  const { call, via } = use;
  const managed = await openOrUse(id ?? undefined, use);
  let isTold = id !== null;
  try {
    const reply = await work(managed);
    isTold ||= !call.signal.aborted;
    return reply;
  } finally {
    if (!isTold) await call.deps.directory.close(call.deps.owner, managed.id, { via }).catch(() => {});
  }
}

interface Use {
  readonly settings: CodeSandboxSettings;
  readonly call: ToolCall;
  /** The name of the tool, for the audit log. */
  readonly via: string;
}

async function openOrUse(id: string | undefined, { settings, call, via }: Use): Promise<ManagedSession> {
  const { directory, owner, config } = call.deps;
  const options = { signal: call.signal, via };
  if (id !== undefined && findOpen(checkedId(id), call) !== undefined) return directory.use(owner, id, options);
  try {
    return await directory.open(owner, requestOf(id ?? newSessionId(), settings, config.isolation), options);
  } catch (thrown) {
    // Another call opens the same session concurrently.
    if (id !== undefined && thrown instanceof HotcellError && thrown.code === 'session_exists') {
      return directory.use(owner, id, options);
    }
    throw thrown;
  }
}

/** The open session with that id. Opens none. */
export async function useOpen(id: string, call: ToolCall, via: string): Promise<ManagedSession> {
  if (findOpen(checkedId(id), call) === undefined) {
    throw new Failure('session_not_found', `there is no session ${id}. It was closed, expired, or never existed.`);
  }
  return call.deps.directory.use(call.deps.owner, id, { signal: call.signal, via });
}

function findOpen(id: string, { deps: { directory, owner } }: ToolCall): ManagedSession | undefined {
  return directory.known(owner, id);
}

function checkedId(id: string): string {
  if (SESSION_ID.test(id)) return id;
  throw new Failure('invalid_session_id', 'session_id must have 1 to 64 letters, digits, - and _');
}

function newSessionId(): string {
  return `sess_${randomBytes(6).toString('hex')}`;
}

/**
 * The request for a session: as isolated as in mcp-code-sandbox unless a driver was named. A named process driver has
 * no image.
 */
function requestOf(id: string, settings: CodeSandboxSettings, asked: OpenRequest['isolation']): OpenRequest {
  const isolation = asked === undefined || asked === 'auto' ? 'docker' : asked;
  return {
    id,
    isolation,
    limits: { memoryBytes: memoryLimitBytes(settings), cpus: settings.cpuLimit },
    idleMs: settings.sessionTtlM * 60_000,
    workspace: DATA_FOLDER,
    tmpBytes: TMP_BYTES,
    ...(settings.image === undefined || !DRIVERS[isolation].traits.images
      ? {}
      : { image: settings.image, isOwnImage: true }),
  };
}
