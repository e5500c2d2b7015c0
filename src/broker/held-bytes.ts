/** Bytes that are held for calls, bounded for each key, such as an owner or a session. */
export interface HeldBytes {
  /** Adds bytes, or returns false and adds none. A key that holds nothing may hold any number. */
  add(key: string, bytes: number): boolean;
  remove(key: string, bytes: number): void;
}

/** SECURITY: bounds the memory of many calls with large arguments or unread input, none of which is too large on its own. */
export function createHeldBytes(limit: number): HeldBytes {
  const held = new Map<string, number>();
  return {
    add(key, bytes) {
      const mine = held.get(key) ?? 0;
      if (mine > 0 && mine + bytes > limit) return false;
      held.set(key, mine + bytes);
      return true;
    },
    remove(key, bytes) {
      const left = (held.get(key) ?? 0) - bytes;
      if (left <= 0) held.delete(key);
      else held.set(key, left);
    },
  };
}
