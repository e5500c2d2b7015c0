import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { check } from 'recheck';
import { packageRoot } from '../../src/lib/package-root.ts';
import type { FoundExpression } from './regular-expressions.ts';
import { requireAll } from './targets.ts';

const { version } = createRequire(import.meta.url)('recheck/package.json') as { version: string };
const file = join(packageRoot(), '.hotcell', `linear-expressions-${version}.json`);

/**
 * Which of the expressions take more time than is linear in the text, or could not be judged in time. To judge all takes a processor for twenty seconds:
 * a plain run remembers those that this version of recheck found linear, and judges the others. With --require-all every one is judged anew.
 */
export async function notLinear(expressions: readonly FoundExpression[]): Promise<FoundExpression[]> {
  const linear = new Set<string>(!requireAll() && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []);
  const found = [];
  for (const expression of expressions) {
    const key = `/${expression.source}/${expression.flags}`;
    if (linear.has(key)) continue;
    const { status } = await check(expression.source, expression.flags, { timeout: 60_000 });
    if (status === 'safe') linear.add(key);
    else found.push({ ...expression, status });
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify([...linear]));
  return found;
}
