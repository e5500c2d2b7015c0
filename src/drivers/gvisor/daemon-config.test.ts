import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runtimeArguments, withRuntime } from './daemon-config.ts';

const runsc = '/opt/runsc';
const ours = { path: runsc, runtimeArgs: runtimeArguments };

function merged(current: string | undefined) {
  const result = withRuntime(current, runsc);
  return result.kind === 'changed' ? JSON.parse(result.text) : result;
}

describe('the engine’s configuration', () => {
  it.each([undefined, '', ' \n', '{}'])('that is empty (%j) gets our runtime', (current) => {
    expect(merged(current)).toEqual({ runtimes: { runsc: ours } });
  });

  it('keeps all other settings', () => {
    const current = { 'data-root': '/data', runtimes: { nvidia: { path: 'nvidia-container-runtime' } } };
    expect(merged(JSON.stringify(current))).toEqual({
      'data-root': '/data',
      runtimes: { nvidia: { path: 'nvidia-container-runtime' }, runsc: ours },
    });
  });

  it('that already names our runtime is not rewritten', () => {
    expect(withRuntime(JSON.stringify({ runtimes: { runsc: ours } }), runsc)).toEqual({ kind: 'unchanged' });
  });

  it.each(['{', '[]', 'null', '"x"', '{"runtimes": []}', '{"a": 1,}'])('%s is refused, never replaced', (current) => {
    expect(withRuntime(current, runsc).kind).toBe('refused');
  });

  it('keeps every other key, whatever its value', () => {
    const config = fc.dictionary(
      fc.string().filter((key) => key !== 'runtimes' && key !== '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(config, (settings) => {
        const { runtimes, ...rest } = merged(JSON.stringify(settings));
        expect(runtimes).toEqual({ runsc: ours });
        expect(rest).toEqual(JSON.parse(JSON.stringify(settings)));
      }),
    );
  });
});
