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

/** The largest document that is parsed on the main thread, where it takes some 20 ms. */
const LARGE_BYTES = 4 * 1_048_576;
const SLICE_BYTES = 262_144;
/** The number of threads. With two, the fair queue gives one owner at most one. */
const THREADS = 2;

/**
 * SECURITY: parsing 80 MB would block the main thread, and so all clients, for a second. A large document is scanned in
 * slices and parsed in a worker thread. The thread ends with its document: it starts in less time than the parsing
 * takes, and keeps no memory.
 */
export function createJsonParser(): JsonParser {
  const threads = createFairQueue(THREADS);
  return async (data, owner) => {
    if (data.length <= LARGE_BYTES) return parseHere(data.toString('utf8'));
    const release = await threads.take(owner);
    try {
      const excess = await excessInSlices(data);
      return excess === undefined ? await parseInThread(data) : { excess };
    } finally {
      release();
    }
  };
}

function parseHere(text: string): Parsed {
  const excess = excessIn(text);
  if (excess !== undefined) return { excess };
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
