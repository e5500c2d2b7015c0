import { connect } from 'node:net';
import * as z from 'zod';
import { packageVersion } from '../lib/package-version.ts';

/** A running server, as `hotcell status` shows it. */
const serverFacts = z.object({
  pid: z.number().int(),
  version: z.string().max(100),
  startedAt: z.iso.datetime(),
  /** Number of open sessions. */
  sessions: z.number().int(),
  /** The command of the process: `serve`, `mcp`, `run`; absent in a program that uses the library. */
  command: z.string().max(100).optional(),
  /** URL of a server that serves over HTTP. */
  url: z.string().max(1000).optional(),
  /** Driver of new sessions, once it is known. */
  isolation: z.string().max(100).optional(),
});

export type ServerFacts = z.infer<typeof serverFacts>;

/** The part of the facts that the command of a process knows. */
export type AboutServer = Pick<ServerFacts, 'command' | 'url' | 'isolation'>;

const STARTED_AT = new Date(Date.now() - process.uptime() * 1000).toISOString();

/** The facts about this process. */
export function ownFacts(sessions: number, about: AboutServer = {}): ServerFacts {
  return { pid: process.pid, version: packageVersion(), startedAt: STARTED_AT, sessions, ...about };
}

const MOST_BYTES = 65_536;
const ANSWER_MS = 1_000;

/**
 * Asks the server behind a lock socket. Undefined if nobody listens, or if the server is busy or of a version that says
 * nothing.
 */
export async function askForFacts(socketPath: string): Promise<ServerFacts | undefined> {
  const socket = connect(socketPath).setEncoding('utf8');
  socket.setTimeout(ANSWER_MS, () => socket.destroy());
  let text = '';
  try {
    for await (const piece of socket) {
      text += piece as string;
      if (text.length > MOST_BYTES) return undefined;
    }
    return serverFacts.parse(JSON.parse(text));
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
