import { randomBytes } from 'node:crypto';

/** `prefix-` and 80 random bits in lower-case hex: unguessable, and safe in a path, a label and a container's name. */
export function newId(prefix: string): string {
  return `${prefix}-${randomBytes(10).toString('hex')}`;
}
