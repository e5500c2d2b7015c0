import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { type AuditSink, silentAudit } from './audit.ts';
import { createAuditLog } from './audit-log.ts';
import { createLogger, type Logger } from './logger.ts';
import { type Metrics, silentMetrics } from './metrics.ts';
import { createPrometheusMetrics, type SessionCensus } from './prometheus.ts';

/** What a server tells of itself: to the people who run it, to Prometheus, and to whoever must know later who did what. */
export interface Telemetry {
  readonly logger: Logger;
  readonly audit: AuditSink;
  readonly metrics: Metrics;
  /** All metrics as Prometheus reads them. Empty where they were not asked for. */
  exposition(): Promise<{ contentType: string; text: string }>;
  /** Sessions are counted when somebody asks. */
  watch(census: SessionCensus): void;
  close(): Promise<void>;
}

/** Opens no file and loads nothing heavy before there is something to write, but for metrics where they are asked for. */
export async function openTelemetry(
  config: Pick<Config, 'logLevel' | 'logFile' | 'logFormat' | 'auditBytes' | 'auditFiles'>,
  dataDir: string,
  { metrics }: { metrics: boolean },
): Promise<Telemetry> {
  const logger = createLogger(config);
  const auditLog =
    config.auditBytes === 0
      ? undefined
      : createAuditLog(join(dataDir, 'audit'), {
          fileBytes: config.auditBytes,
          files: config.auditFiles,
          onFailure: (error) => logger.error('the audit log cannot be written', { reason: reasonOf(error) }),
        });
  let census: SessionCensus = () => [];
  const prometheus = metrics ? await createPrometheusMetrics(() => census()) : undefined;
  return {
    logger,
    audit: auditLog ?? silentAudit,
    metrics: prometheus ?? silentMetrics,
    exposition: prometheus?.exposition ?? (async () => ({ contentType: 'text/plain; charset=utf-8', text: '' })),
    watch: (counted) => {
      census = counted;
    },
    close: async () => {
      await auditLog?.close();
      await logger.close();
    },
  };
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : 'unknown');
}
