import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureDependencies, root } from './dependencies.mjs';

/**
 * The progress reporter of the product itself, compiled here because these scripts run before there is a build.
 * Installs the dependencies first, since the compiler is one of them; with `forBuild`, only what the build needs.
 */
export async function prepare({ forBuild = false } = {}) {
  const durationMs = ensureDependencies({ forBuild });
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
