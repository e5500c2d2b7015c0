import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDependencies, root } from './dependencies.mjs';

/**
 * The progress reporter of the product itself, compiled here because these scripts run before there is a build.
 * Installs the dependencies first, since the compiler is one of them.
 */
export async function prepare() {
  const durationMs = ensureDependencies();
  const { transform } = await import('esbuild');
  const { code } = await transform(readFileSync(join(root, 'src/lib/steps.ts'), 'utf8'), { loader: 'ts' });
  const steps = await import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
  const report = steps.terminalReport();
  if (durationMs !== undefined) report({ kind: 'finished', name: 'Dependencies', durationMs });
  return {
    ...steps,
    report,
    step: (name, work, options) => steps.runStep(report, name, work, options),
  };
}
