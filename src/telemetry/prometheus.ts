import type { Metrics } from './metrics.ts';

export type SessionCensus = () => readonly {
  readonly state: string;
  readonly driver: string;
  readonly count: number;
}[];

/** Metrics in the Prometheus format. */
export interface PrometheusMetrics extends Metrics {
  exposition(): Promise<{ contentType: string; text: string }>;
}

/** Histogram buckets of executions, in seconds. */
const EXECUTION_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
/** Histogram buckets of session openings, in seconds: from a pooled sandbox to an image on a slow disk. */
const OPENING_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Loads prom-client, only if metrics are served. Labels have few values by construction: drivers, outcomes, codes. */
export async function createPrometheusMetrics(census: SessionCensus): Promise<PrometheusMetrics> {
  // prom-client is CommonJS; once bundled, its names are only on `default`.
  const { default: client } = await import('prom-client');
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = client;
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });

  const sessions = new Gauge({
    name: 'hotcell_sessions',
    help: 'Current number of sessions',
    labelNames: ['state', 'driver'],
    registers,
    collect: () => {
      sessions.reset();
      for (const { state, driver, count } of census()) sessions.set({ state, driver }, count);
    },
  });
  const opened = new Counter({
    name: 'hotcell_sessions_opened_total',
    help: 'Number of opened sessions',
    labelNames: ['driver'],
    registers,
  });
  const opening = new Histogram({
    name: 'hotcell_session_opening_seconds',
    help: 'Duration of session openings, including time in the queue',
    labelNames: ['driver'],
    buckets: OPENING_SECONDS,
    registers,
  });
  const closed = new Counter({
    name: 'hotcell_sessions_closed_total',
    help: 'Number of closed sessions, by reason',
    labelNames: ['driver', 'reason'],
    registers,
  });
  const executions = new Histogram({
    name: 'hotcell_execution_seconds',
    help: 'Duration of executions, by outcome',
    labelNames: ['driver', 'outcome'],
    buckets: EXECUTION_SECONDS,
    registers,
  });
  const bytes = new Counter({
    name: 'hotcell_bytes_total',
    help: 'Bytes copied into and out of sandboxes',
    labelNames: ['direction', 'kind'],
    registers,
  });
  const calls = new Histogram({
    name: 'hotcell_call_seconds',
    help: 'Duration of calls from sandboxes to the host, by method and outcome',
    labelNames: ['method', 'outcome'],
    buckets: EXECUTION_SECONDS,
    registers,
  });
  const connections = new Counter({
    name: 'hotcell_connections_total',
    help: 'Network connections of sandboxes, by decision and end, with the reason',
    labelNames: ['event', 'reason'],
    registers,
  });
  const refusals = new Counter({
    name: 'hotcell_refusals_total',
    help: 'Number of refused calls, by error code',
    labelNames: ['code'],
    registers,
  });

  return {
    opened: (driver, seconds) => {
      opened.inc({ driver });
      opening.observe({ driver }, seconds);
    },
    closed: (driver, reason) => closed.inc({ driver, reason }),
    executed: (driver, outcome, seconds) => executions.observe({ driver, outcome }, seconds),
    bytes: (direction, kind, count) => bytes.inc({ direction, kind }, count),
    called: (method, outcome, seconds) => calls.observe({ method, outcome }, seconds),
    connection: (event, reason) => connections.inc({ event, reason }),
    refused: (code) => refusals.inc({ code }),
    exposition: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
