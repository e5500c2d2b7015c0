import { expect, test } from 'vitest';
import { createPrometheusMetrics } from './prometheus.ts';

test('counts openings, executions, bytes, refusals and current sessions', async () => {
  let count = 2;
  const metrics = await createPrometheusMetrics(() => [{ state: 'idle', driver: 'process', count }]);
  metrics.opened('process', 0.015);
  metrics.closed('process', 'idle');
  metrics.executed('process', 'ok', 0.0005);
  metrics.executed('process', 'timed-out', 60);
  metrics.bytes('in', 'code', 100);
  metrics.called('echo', 'ok', 0.01);
  metrics.refused('too_many_sessions');
  const { text, contentType } = await metrics.exposition();
  expect(contentType).toMatch(/^text\/plain/);
  for (const line of [
    'hotcell_sessions{state="idle",driver="process"} 2',
    'hotcell_sessions_opened_total{driver="process"} 1',
    'hotcell_session_opening_seconds_bucket{le="0.02",driver="process"} 1',
    'hotcell_sessions_closed_total{driver="process",reason="idle"} 1',
    'hotcell_execution_seconds_count{driver="process",outcome="ok"} 1',
    'hotcell_execution_seconds_count{driver="process",outcome="timed-out"} 1',
    'hotcell_bytes_total{direction="in",kind="code"} 100',
    'hotcell_call_seconds_count{method="echo",outcome="ok"} 1',
    'hotcell_refusals_total{code="too_many_sessions"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  count = 0;
  expect((await metrics.exposition()).text).toContain('hotcell_sessions{state="idle",driver="process"} 0\n');
});

test('two servers in one process have separate metrics', async () => {
  const one = await createPrometheusMetrics(() => []);
  const other = await createPrometheusMetrics(() => []);
  one.refused('internal');
  expect((await other.exposition()).text).not.toContain('code="internal"');
});
