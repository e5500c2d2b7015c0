import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { TerminalSize } from '../../execution/command.ts';
import { noServer, remoteError, serverUrl } from '../run/server-errors.ts';
import { createServerRequests, misbehaved, SERVER_LIMITS } from '../run/server-requests.ts';
import { streamedRun } from '../run/streamed-run.ts';
import { createRemoteInput } from './remote-input.ts';
import type { ShellCommand } from './shell-command.ts';

/** The commands of one session on a server. */
export interface RemoteCommands extends Disposable {
  readonly origin: string;
  start(request: CommandRequest): Promise<RemoteCommand>;
  attach(id: string): Promise<RemoteCommand>;
  list(): Promise<readonly ListedCommand[]>;
}

export interface RemoteCommand extends ShellCommand {
  readonly id: string;
}

export interface CommandRequest {
  readonly command: string | readonly string[];
  readonly cwd?: string;
  readonly stdin?: boolean;
  readonly terminal?: TerminalSize;
  readonly timeout_ms?: number;
}

const listed = z.object({
  execution_id: z.string().max(200),
  command: z.string().max(2_000),
  state: z.enum(['waiting', 'running', 'ended']),
  started_at: z.iso.datetime(),
  terminal: z.boolean(),
});
export type ListedCommand = z.infer<typeof listed>;

/** SECURITY: bounds on the answer of a server, which may be hostile. */
const list = z.object({ commands: z.array(listed).max(2_000) });
const LARGEST_LIST_BYTES = 4 * 1_048_576;

export function createRemoteCommands(
  server: string,
  session: string,
  token: string | undefined,
  limits = SERVER_LIMITS,
): RemoteCommands {
  const base = serverUrl(server);
  const requests = createServerRequests(base, limits);
  const over = new AbortController();
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const path = `/run/${encodeURIComponent(session)}/commands`;

  /**
   * `below`: path relative to the commands of the session. Rejects with a HotcellError for every response that is not a
   * success.
   */
  async function request(below: string, init: RequestInit = {}): Promise<Response> {
    const given = { ...init, headers: { ...init.headers, ...authorization }, signal: over.signal };
    const response = await requests.fetch(new URL(`${path}${below}`, base), given).catch((error: unknown) => {
      throw error instanceof HotcellError ? error : noServer(base);
    });
    if (response.ok) return response;
    throw remoteError(base, await requests.errorBody(response));
  }

  async function post(below: string, body: object): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return request(below, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  async function commandOf(response: Response): Promise<RemoteCommand> {
    const ended = new AbortController();
    const run = await streamedRun(requests.pieces(response), base, (answer) => remoteError(base, answer));
    const below = `/${encodeURIComponent(run.executionId)}`;
    const again = `The command goes on if the server does. Attach again: ${attachLine(base.origin, session, run.executionId)}`;
    const lost = () => lostError(base, again);
    const withAttachLine = ({ code, message }: HotcellError) => new HotcellError(code, message, { remedy: again });
    const input = createRemoteInput((data, end) => sendInput(below, data, end), ended.signal);

    return {
      id: run.executionId,
      async *[Symbol.asyncIterator]() {
        try {
          yield* run;
        } catch (error) {
          throw error instanceof HotcellError ? withAttachLine(error) : lost();
        } finally {
          ended.abort();
        }
      },
      outcome: async () => run.outcome(lost),
      ...input,
      kill: async (signal) => void (await post(`${below}/signal`, { signal })),
      resize: async (size) => void (await post(`${below}/resize`, size)),
    };
  }

  async function sendInput(below: string, data: Uint8Array, end: boolean): Promise<boolean> {
    const headers = { 'content-type': 'application/octet-stream' };
    const body = new Uint8Array(data);
    const response = await request(`${below}/input${end ? '?end=true' : ''}`, { method: 'POST', headers, body });
    const parsed = z.object({ accepted: z.boolean() }).safeParse(await requests.jsonBody(response, 1_024));
    if (!parsed.success) throw misbehaved(base, 'sent an invalid response');
    return parsed.data.accepted;
  }

  return {
    origin: base.origin,
    start: async (body) => commandOf(await post('', body)),
    attach: async (id) => commandOf(await request(`/${encodeURIComponent(id)}`)),
    async list() {
      const parsed = list.safeParse(await requests.jsonBody(await request(''), LARGEST_LIST_BYTES));
      if (parsed.success) return parsed.data.commands;
      throw misbehaved(base, 'sent an invalid list');
    },
    [Symbol.dispose]: () => {
      over.abort();
      requests.close();
    },
  };
}

function lostError(base: URL, remedy: string): HotcellError {
  const message = `the connection to ${base.origin} was lost before the command ended`;
  return new HotcellError('engine_failed', message, { remedy });
}

/** The command line that attaches again. SECURITY: without characters that a shell or a terminal would interpret. */
export function attachLine(origin: string, session: string, id: string): string {
  const plain = (text: string) => (/^[\w.@:-]{1,200}$/.test(text) ? text : '…');
  return `hotcell shell ${plain(session)} --attach ${plain(id)} --server ${origin}`;
}
