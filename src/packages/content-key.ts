import { createHash } from 'node:crypto';

/** A name for data: equal data give equal names, whatever the order of their keys. */
export function contentKey(data: unknown): string {
  return createHash('sha256').update(canonical(data)).digest('hex');
}

/** JSON with sorted keys. SECURITY: a lock has as many keys as a registry likes, so no object is made anew for them, which takes ten times as long. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).filter((name) => members[name] !== undefined);
  const texts = names.sort().map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`);
  return `{${texts.join(',')}}`;
}
