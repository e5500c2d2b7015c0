import type { ErrorCode } from '../errors/codes.ts';
import type { ClosingReason, FeedEvent } from './feed.ts';

/** The counters of a server. Labels have few values: drivers, outcomes, reasons, error codes, methods. */
export interface Metrics {
  opened(driver: string, seconds: number): void;
  closed(driver: string, why: ClosingReason): void;
  executed(driver: string, outcome: string, seconds: number): void;
  bytes(direction: 'in' | 'out', kind: 'code' | 'output' | 'file' | 'call', count: number): void;
  /** A call from a sandbox to a method of the host. */
  called(method: string, outcome: string, seconds: number): void;
  refused(code: ErrorCode): void;
}

export function countEvent(metrics: Metrics, event: FeedEvent): void {
  switch (event.event) {
    case 'session-opened':
      return metrics.opened(event.isolation.driver, event.durationMs / 1000);
    case 'session-closed':
      return metrics.closed(event.driver, event.why);
    case 'execution-ended':
      metrics.executed(event.isolation.driver, event.outcome, event.durationMs / 1000);
      metrics.bytes('in', 'code', event.codeBytes);
      return metrics.bytes('out', 'output', event.outputBytes);
    case 'file-written':
      return metrics.bytes('in', 'file', event.sizeBytes);
    case 'file-read':
      return metrics.bytes('out', 'file', event.sizeBytes);
    case 'call-ended':
      metrics.called(event.method, event.outcome, event.durationMs / 1000);
      metrics.bytes('in', 'call', event.sentBytes);
      return metrics.bytes('out', 'call', event.receivedBytes);
    case 'refused':
      return metrics.refused(event.refusal);
  }
}
