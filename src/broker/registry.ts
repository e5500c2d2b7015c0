import type { Method } from './method.ts';

/** The methods that sandboxes can call, one line each. While there is none, no guest listens for calls. */
export const METHODS: readonly Method[] = Object.freeze([]);
