import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const CHUNK_BYTES = 4 * 1_048_576;
/** The kernel's own pages, and the symbol table of the vDSO: not readable, or the same everywhere. */
const UNREADABLE = /\[(?:vvar|vvar_vclock|vsyscall)\]/;

/** Which of `needles` stand anywhere in the memory of a process, as root reads it from outside. A process that has ended holds nothing. */
export function foundInMemory(pid: number, needles: readonly string[]): string[] {
  const wanted = new Set(needles);
  const found = new Set<string>();
  for (const piece of memoryOf(pid)) {
    for (const needle of wanted) {
      if (!piece.includes(needle)) continue;
      found.add(needle);
      wanted.delete(needle);
    }
    if (wanted.size === 0) break;
  }
  return [...found];
}

/** The readable memory of a process in pieces that overlap, so that no needle is cut in two. */
function* memoryOf(pid: number): Generator<Buffer> {
  const overlap = 256;
  const buffer = Buffer.alloc(CHUNK_BYTES);
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const [start, end] of mappingsOf(pid)) {
      for (let position = start; position < end; position += CHUNK_BYTES - overlap) {
        const length = Math.min(CHUNK_BYTES, end - position);
        yield buffer.subarray(0, readOrNothing(memory, buffer, length, position));
      }
    }
  } finally {
    closeSync(memory);
  }
}

function mappingsOf(pid: number): [number, number][] {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .filter((line) => / r/.test(line) && !UNREADABLE.test(line))
    .map(
      (line) =>
        line
          .split(' ', 1)[0]
          ?.split('-')
          .map((text) => Number.parseInt(text, 16)) as [number, number],
    );
}

function readOrNothing(memory: number, buffer: Buffer, length: number, position: number): number {
  try {
    return readSync(memory, buffer, 0, length, position);
  } catch {
    return 0; // a mapping of a device, or one that is gone
  }
}
