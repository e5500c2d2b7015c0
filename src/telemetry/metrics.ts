import type { ErrorCode } from '../errors/codes.ts';

/** What is counted while a server runs. Called on the way of every call: cheap, and never throws. */
export interface Metrics {
  opened(driver: string, seconds: number): void;
  /** Why: `asked`, `idle`, `age`, `shutdown`, `lost`. */
  closed(driver: string, why: string): void;
  executed(driver: string, outcome: string, seconds: number): void;
  bytes(direction: 'in' | 'out', kind: 'code' | 'output' | 'file', count: number): void;
  refused(code: ErrorCode): void;
}

export const silentMetrics: Metrics = {
  opened: () => {},
  closed: () => {},
  executed: () => {},
  bytes: () => {},
  refused: () => {},
};
