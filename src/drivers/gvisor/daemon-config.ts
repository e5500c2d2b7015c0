/** The name under which the engine registers gVisor. */
export const runtimeName = 'runsc';

/**
 * `systrap` needs no virtualisation hardware. Sandboxes have only a loopback interface, so gVisor's network stack is
 * off, too: a container that asks for a network under this runtime gets none.
 */
export const runtimeArguments = ['--platform=systrap', '--network=none'];

export type MergeResult =
  | { kind: 'unchanged' }
  | { kind: 'changed'; text: string }
  /** The file is not valid for Docker; it is left unchanged, because its settings are not ours to lose. */
  | { kind: 'refused'; reason: string };

/** The engine's configuration with our runtime added, and everything else unchanged. */
export function withRuntime(current: string | undefined, runscPath: string): MergeResult {
  const parsed = parseConfig(current);
  if (typeof parsed === 'string') return { kind: 'refused', reason: parsed };
  const runtimes = parsed.runtimes ?? {};
  if (!isObject(runtimes)) return { kind: 'refused', reason: '"runtimes" is not an object' };
  const wanted = { path: runscPath, runtimeArgs: runtimeArguments };
  if (JSON.stringify(runtimes[runtimeName]) === JSON.stringify(wanted)) return { kind: 'unchanged' };
  const merged = { ...parsed, runtimes: { ...runtimes, [runtimeName]: wanted } };
  return { kind: 'changed', text: `${JSON.stringify(merged, null, 2)}\n` };
}

function parseConfig(text: string | undefined): Record<string, unknown> | string {
  if (text === undefined || text.trim() === '') return {};
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : 'it is not a JSON object';
  } catch (error) {
    return `it is not valid JSON (${(error as Error).message})`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
