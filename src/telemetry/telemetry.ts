import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { auditEntryOf } from './audit.ts';
import { createAuditLog } from './audit-log.ts';
import { createFeed, type Feed } from './feed.ts';
import { createLogger, type Logger } from './logger.ts';
import { countEvent } from './metrics.ts';
import { createPrometheusMetrics, type SessionCensus } from './prometheus.ts';

/**
 * The telemetry of a server: a log for its operators, and a feed of events for the audit log and the Prometheus
 * metrics.
 */
export interface Telemetry {
  readonly logger: Logger;
  readonly feed: Feed;
  /** All metrics in the exposition format of Prometheus; empty if metrics are not enabled. */
  exposition(): Promise<{ contentType: string; text: string }>;
  /** Sets how sessions are counted; they are counted on each scrape. */
  watch(census: SessionCensus): void;
  close(): Promise<void>;
}

/** Opens no file and loads no library before there is something to write, except prom-client if metrics are enabled. */
export async function openTelemetry(
  config: Pick<Config, 'logLevel' | 'logFile' | 'logFormat' | 'auditBytes' | 'auditFiles'>,
  dataDir: string,
  { metrics, logger = createLogger(config) }: { metrics: boolean; logger?: Logger | undefined },
): Promise<Telemetry> {
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
  const feed = createFeed();
  if (auditLog !== undefined) feed.subscribe((event) => auditLog.record(auditEntryOf(event)));
  if (prometheus !== undefined) feed.subscribe((event) => countEvent(prometheus, event));
  return {
    logger,
    feed,
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
