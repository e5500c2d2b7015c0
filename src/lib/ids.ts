import { randomFillSync } from 'node:crypto';

const ID_BYTES = 10;
/** Random bytes for many ids: one request for randomness costs more than an id. */
const random = Buffer.alloc(64 * ID_BYTES);
let used = random.length;

/** `prefix-` and 80 random bits in lower-case hex: unguessable, and safe in a path, a label and a container name. */
export function newId(prefix: string): string {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  used += ID_BYTES;
  return `${prefix}-${random.toString('hex', used - ID_BYTES, used)}`;
}
