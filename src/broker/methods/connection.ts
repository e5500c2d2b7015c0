import type { MethodDefinition } from '../method.ts';

/**
 * Members of methods whose calls are connections: a program drives them, they may stay open, and the network
 * counts their bytes and reports its decisions.
 */
export const CONNECTION = {
  limits: {
    argumentBytes: 65_536,
    inputBytes: Number.POSITIVE_INFINITY,
    outputBytes: Number.POSITIVE_INFINITY,
    durationMs: Number.POSITIVE_INFINITY,
  },
  pausesClock: false,
  takesPlace: false,
  isForPrograms: false,
  reportsItself: true,
} satisfies Partial<MethodDefinition<unknown>>;
