import { Worker } from 'node:worker_threads';
import { createFairQueue } from './fair-queue.ts';
import { createJsonScan, excessIn, JSON_LIMITS } from './json-limits.ts';
import { createPacer } from './pacer.ts';

/** A parsed document, or the reason for rejecting it: a limit that it exceeds (`excess`), or invalid JSON (`fault`). */
export type Parsed = { readonly value: unknown } | { readonly excess: string } | { readonly fault: string };

/**
 * Parses a document from outside on behalf of an owner. The data may be transferred to another thread, and is empty
 * then.
 */
export type JsonParser = (data: Buffer, owner: string) => Promise<Parsed>;

/** The largest document that is scanned and parsed in one go, which takes less than a millisecond. */
export const SMALL_JSON_BYTES = 65_536;
/** The largest document that is parsed on the main thread, where it takes some 5 ms. */
const LARGE_BYTES = 1_048_576;
const SLICE_BYTES = 262_144;
/** With two places an owner takes one. */
const AT_ONCE = 2;
const THREADS = 2;

/** Parses a small document at once. Many of them cost as much as a large one, so callers share turns. */
export function parseSmallJson(data: Buffer): Parsed {
  const text = data.toString('utf8');
  const excess = excessIn(text);
  return excess === undefined ? parseText(text) : { excess };
}

/**
 * SECURITY: parsing 80 MB would block the main thread for a second, and so would twelve documents of 4 MB at once.
 * Documents are scanned in slices, one per owner at a time; one of more than a megabyte is parsed in a worker thread.
 * The thread ends with its document: it starts in less time than the parsing takes, and keeps no memory.
 */
export function createJsonParser(): JsonParser {
  const places = createFairQueue(AT_ONCE);
  const threads = createFairQueue(THREADS);

  return async (data, owner) => {
    const isLarge = data.length > LARGE_BYTES;
    const release = await (isLarge ? threads : places).take(owner);
    try {
      const excess = await excessInSlices(data);
      if (excess !== undefined) return { excess };
      return isLarge ? await parseInThread(data) : parseText(data.toString('utf8'));
    } finally {
      setImmediate(release); // the next document is parsed after the event loop has served others
    }
  };
}

function parseText(text: string): Parsed {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: String(error) };
  }
}

async function excessInSlices(data: Buffer): Promise<string | undefined> {
  const pause = createPacer();
  const scan = createJsonScan(JSON_LIMITS);
  for (let start = 0; start < data.length; start += SLICE_BYTES) {
    const excess = scan(data.toString('latin1', start, start + SLICE_BYTES));
    if (excess !== undefined) return excess;
    await pause();
  }
  return undefined;
}

const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  function parse(text) {
    try {
      return { value: JSON.parse(text) };
    } catch (error) {
      return { fault: String(error) };
    }
  }
  parentPort.postMessage(parse(Buffer.from(workerData).toString('utf8')));
`;

async function parseInThread(data: Buffer): Promise<Parsed> {
  const isOwn = data.byteLength === data.buffer.byteLength;
  const bytes = (isOwn ? data.buffer : new Uint8Array(data).buffer) as ArrayBuffer;
  const options = { eval: true, workerData: bytes, transferList: [bytes], env: {}, execArgv: [] };
  const worker = new Worker(PROGRAM, options);
  try {
    return await new Promise<Parsed>((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
      worker.once('exit', () => reject(new Error('the thread that parses JSON ended')));
    });
  } finally {
    void worker.terminate();
  }
}
