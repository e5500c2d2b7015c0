import type { Config } from '../config/schema.ts';
import { type AuditSink, silentAudit } from './audit.ts';
import { type Metrics, silentMetrics } from './metrics.ts';

export type SessionCensus = () => readonly { state: string; driver: string; count: number }[];

/** What a server tells of itself: to the people who run it, to Prometheus, and to whoever must know later who did what. */
export interface Telemetry {
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  /** Sessions are counted when somebody asks. */
  watch(census: SessionCensus): void;
  /** All metrics as Prometheus reads them. Empty where they were not asked for. */
  exposition(): Promise<{ contentType: string; text: string }>;
  close(): Promise<void>;
}

export async function openTelemetry(
  _config: Config,
  _dataDir: string,
  _options: { metrics: boolean },
): Promise<Telemetry> {
  return {
    audit: silentAudit,
    metrics: silentMetrics,
    watch: () => {},
    exposition: async () => ({ contentType: 'text/plain', text: '' }),
    close: async () => {},
  };
}
