import type { ErrorCode } from '../errors/codes.ts';
import type { ClosingReason, FeedEvent } from './feed.ts';

/** The counters of a server. Labels have few values: drivers, outcomes, reasons, error codes, methods, never servers. */
export interface Metrics {
  opened(driver: string, seconds: number): void;
  closed(driver: string, why: ClosingReason): void;
  executed(driver: string, outcome: string, seconds: number): void;
  bytes(direction: 'in' | 'out', kind: 'code' | 'output' | 'file' | 'call' | 'network', count: number): void;
  /** A call from a sandbox to a method of the host. */
  called(method: string, outcome: string, seconds: number): void;
  /** A decision about a connection of a sandbox to a server, or the end of one. */
  connection(event: 'opened' | 'refused' | 'failed' | 'closed', why: string): void;
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
    case 'connection-opened':
      return metrics.connection('opened', '');
    case 'connection-refused':
      return metrics.connection('refused', event.why ?? '');
    case 'connection-failed':
      return metrics.connection('failed', event.why ?? '');
    case 'connection-closed':
      metrics.connection('closed', event.why ?? '');
      metrics.bytes('in', 'network', event.receivedBytes ?? 0);
      return metrics.bytes('out', 'network', event.sentBytes ?? 0);
    case 'refused':
      return metrics.refused(event.refusal);
  }
}
