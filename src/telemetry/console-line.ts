/** A human-readable log line: `2026-01-31T12:00:00.000Z INFO  tool call tool=run_code durationMs=12`. */
export function consoleLine(json: string): string {
  const { time, level, msg, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`);
  return `${[time, String(level).toUpperCase().padEnd(5), shownMessage(msg), ...rest].join(' ')}\n`;
}

function shownMessage(message: unknown): string {
  // SECURITY: one event is one line, so that a value with a line break cannot forge another.
  return JSON.stringify(String(message ?? '')).slice(1, -1);
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}
