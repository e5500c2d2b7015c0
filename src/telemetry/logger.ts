import { constants, lstatSync, openSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { createBoundedWriter } from '../lib/bounded-writer.ts';
import { NO_LINK } from '../lib/held-folder.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { requireTrusted } from '../lib/own-folder.ts';
import { walkTrusted } from '../lib/trusted-path.ts';
import { trustedHere } from '../lib/untrusted-path.ts';
import { visibleJson } from '../lib/visible-json.ts';
import { consoleLine } from './console-line.ts';

/**
 * The log of a server for its operator, as JSON lines or as text. It is never written to stdout, which the protocol
 * uses. SECURITY: fields are names, numbers and codes; no caller passes code, output, contents of files or tokens.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  close(): Promise<void>;
}

export type LogFields = Readonly<Record<string, unknown>>;
type Level = 'error' | 'warn' | 'info' | 'debug';

const RANKS: Readonly<Record<Config['logLevel'], number>> = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 };
/** Bytes buffered for a reader of stderr that does not read. Further lines are dropped. */
const MOST_WAITING_BYTES = 1_048_576;
const CLOSE_MS = 500;
const STDERR = 2;

export type LogOptions = Pick<Config, 'logLevel' | 'logFile'> & Partial<Pick<Config, 'logFormat'>>;

/**
 * Loads pino with the first line to write, so that a server that logs nothing starts without it. `beforeOpening` may
 * throw then, and nothing is written.
 */
export function createLogger(config: LogOptions, beforeOpening: () => void = () => {}): Logger {
  const { logLevel } = config;
  let sink: Promise<Sink> | undefined;
  let ready: Sink | undefined;
  const early: [Level, string, LogFields][] = [];

  function log(level: Level, message: string, fields: LogFields = {}): void {
    if (RANKS[level] > RANKS[logLevel]) return;
    if (ready !== undefined) ready.write(level, message, fields);
    else {
      if (early.length < 1000) early.push([level, message, fields]);
      sink ??= load();
      sink.catch(() => {}); // a log that cannot be written must not stop the server
    }
  }

  async function load(): Promise<Sink> {
    ready = await openSink(config, beforeOpening);
    for (const line of early.splice(0)) ready.write(...line);
    return ready;
  }

  return {
    error: (message, fields) => log('error', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    info: (message, fields) => log('info', message, fields),
    debug: (message, fields) => log('debug', message, fields),
    close: async () => {
      const opened = await sink?.catch(() => undefined);
      await opened?.close();
    },
  };
}

interface Sink {
  write(level: Level, message: string, fields: LogFields): void;
  close(): Promise<void>;
}

async function openSink({ logFile, logFormat }: LogOptions, beforeOpening: () => void): Promise<Sink> {
  // pino is CommonJS; once bundled, its names are only on `default`.
  const { default: pino } = await import('pino');
  beforeOpening();
  const writer = createBoundedWriter(logFile === undefined ? STDERR : openLog(logFile), MOST_WAITING_BYTES);
  const logger = pino(
    {
      level: 'debug',
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // SECURITY: redacts secrets in case a caller logs a request.
      redact: ['token', 'authorization', 'cookie', 'headers.authorization', 'headers.cookie'],
    },
    // SECURITY: stderr may be a terminal, and clients choose names in the fields, so control characters are escaped.
    { write: (line: string) => writer.write(visibleJson(logFormat === 'console' ? consoleLine(line) : line)) },
  );
  return {
    write: (level, message, fields) => logger[level](fields, message),
    close: () => Promise.race([writer.drained(), sleep(CLOSE_MS, undefined, { ref: false })]),
  };
}

/**
 * SECURITY: in `/tmp`, another user could put a link or a pipe in place of the log. A new file is created exclusively;
 * an existing one is opened only if no other user can exchange it. Folders are created only below folders that no other
 * user can replace.
 */
function openLog(path: string): number {
  const place = join(folderOf(dirname(path)), basename(path));
  const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    return openSync(place, O_APPEND | O_CREAT | O_EXCL | O_WRONLY, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const isLink = lstatSync(place).isSymbolicLink(); // one that this user made before, such as to another disk
    requireTrusted(place);
    return openSync(place, O_APPEND | O_WRONLY | O_CREAT | (isLink ? 0 : NO_LINK), 0o600);
  }
}

/** The folder of the log, without symbolic links; it is created if it is missing. */
function folderOf(path: string): string {
  const trusted = trustedHere();
  if (trusted !== undefined) return walkTrusted(path, trusted, 0o700);
  makeFolder(path, 0o700);
  return path;
}
