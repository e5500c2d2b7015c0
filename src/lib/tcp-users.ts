import { open } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { endianness } from 'node:os';
import ipaddr from 'ipaddr.js';
import { type Deferred, deferred } from './deferred.ts';

/** One end of a TCP connection of this machine. */
export interface TcpEnd {
  readonly address: string;
  readonly port: number;
}

/**
 * The uid of the program that holds the end `of` of a connection to `to`; undefined if no program holds it (any more), or
 * the list cannot be read now; `unknown` where the system has no list of connections.
 */
export type TcpUsers = (of: TcpEnd, to: TcpEnd) => Promise<number | 'unknown' | undefined>;

/** The connections of this machine, on Linux. Each line: a number, both ends, and further columns. */
export const TCP_TABLES: readonly string[] = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const PIECE_BYTES = 65_536;

/**
 * Finds users of connections. SECURITY: any user can make the list megabytes long. So one reading serves all questions
 * that wait, and it is read in pieces.
 */
export function createTcpUsers(tables: readonly string[] = TCP_TABLES): TcpUsers {
  type Questions = Map<string, Deferred<number | 'unknown' | undefined>>;
  let waiting: Questions = new Map();
  let isReading = false;

  async function answer(questions: Questions): Promise<void> {
    let missing = 0;
    for (const table of tables) {
      try {
        for await (const line of linesOf(table)) {
          const { local, remote, uid } = tcpRow(line);
          if (uid !== undefined) questions.get(`${local} ${remote}`)?.resolve(uid);
        }
      } catch (error) {
        // SECURITY: not if it cannot be read now. Any user can make the server run out of descriptors, by connections.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') missing += 1;
      }
    }
    for (const question of questions.values()) question.resolve(missing === tables.length ? 'unknown' : undefined);
  }

  async function readWhileAsked(): Promise<void> {
    if (isReading) return;
    isReading = true;
    while (waiting.size > 0) {
      const questions = waiting;
      waiting = new Map();
      await answer(questions);
    }
    isReading = false;
  }

  return async (of, to) => {
    const spellings = spellingsOf(of, to);
    const asked = waiting.get(spellings[0]!) ?? deferred<number | 'unknown' | undefined>();
    for (const ends of spellings) waiting.set(ends, asked);
    void readWhileAsked();
    return asked.promise;
  };
}

/** A line of the list. */
export interface TcpRow {
  readonly local: string | undefined;
  readonly remote: string | undefined;
  readonly state: string | undefined;
  /** Undefined if no program has the socket. */
  readonly uid: number | undefined;
}

export function tcpRow(line: string): TcpRow {
  const [, local, remote, state, , , , uid, , inode = ''] = line.trim().split(/ +/);
  // SECURITY: a connection that its program has closed has no inode, and the uid 0, whoever opened it.
  return { local, remote, state, uid: /^[1-9]\d*$/.test(inode) ? Number(uid) : undefined };
}

/** A program may use a socket of IPv6 for an address of IPv4. */
function spellingsOf(of: TcpEnd, to: TcpEnd): string[] {
  const [own, others] = [hexadecimal(of.address), hexadecimal(to.address)];
  const port = (end: TcpEnd) => end.port.toString(16).toUpperCase().padStart(4, '0');
  return own.map((address, index) => `${address}:${port(of)} ${others[index]}:${port(to)}`);
}

/** An address as the list has it: as words of 32 bits, in the order of bytes of this machine. */
function hexadecimal(address: string): string[] {
  const plain = ipaddr.process(address.split('%', 1)[0]!);
  if (isIPv6(plain.toString())) return [words(plain.toByteArray())];
  const bytes = plain.toByteArray();
  return [words(bytes), words([...new Array(10).fill(0), 0xff, 0xff, ...bytes])];
}

function words(bytes: readonly number[]): string {
  const isLittle = endianness() === 'LE';
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const word = bytes.slice(at, at + 4);
    text += Buffer.from(isLittle ? word.reverse() : word).toString('hex');
  }
  return text.toUpperCase();
}

/** The lines of a file, read in pieces. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  const handle = await open(path);
  try {
    const buffer = Buffer.alloc(PIECE_BYTES);
    let rest = '';
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, PIECE_BYTES, null);
      if (bytesRead === 0) return;
      const lines = (rest + buffer.toString('latin1', 0, bytesRead)).split('\n');
      rest = lines.pop()!;
      yield* lines;
    }
  } finally {
    await handle.close();
  }
}
