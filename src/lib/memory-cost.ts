const STRING_BYTES = 24;
const OBJECT_BYTES = 48;
const MEMBER_BYTES = 8;
/** A buffer with memory of its own: two objects on the heap, and an allocation outside it. */
const BUFFER_BYTES = 320;
/** V8 may hold any string in UTF-16. */
const CHAR_BYTES = 2;

/**
 * The memory that a value of plain data takes, with all its members: an upper estimate, not a measurement. SECURITY:
 * every budget for results uses it, so that no member is forgotten: a thousand displays of sixteen empty
 * representations have no bytes of data and take five megabytes.
 */
export function memoryCost(value: unknown): number {
  if (typeof value === 'string') return STRING_BYTES + CHAR_BYTES * value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (value instanceof Uint8Array) return BUFFER_BYTES + value.length;
  let cost = OBJECT_BYTES;
  for (const member of Object.values(value)) cost += MEMBER_BYTES + memoryCost(member);
  return cost;
}
