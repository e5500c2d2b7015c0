import fc from 'fast-check';
import { test } from 'vitest';

/**
 * One fuzz target: a property that must hold for whatever is generated. `npm test` tries it so many times; `npm run fuzz` for so many seconds. A
 * failure says how to repeat it.
 */
export function fuzz<T>(name: string, property: fc.IAsyncProperty<T> | fc.IProperty<T>, runs: number): void {
  test(name, { timeout: longMs() + 300_000 }, async () => {
    const seed = Number(process.env.HOTCELL_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const path = process.env.HOTCELL_FUZZ_PATH;
    const details = await fc.check(property as fc.IAsyncProperty<T>, {
      seed,
      // A run that hangs is a failure like any other.
      timeout: 60_000,
      ...(path === undefined ? {} : { path }),
      ...(longMs() === 0
        ? { numRuns: runs }
        : { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: longMs(), maxSkipsPerRun: 1000 }),
    });
    if (longMs() > 0) process.stderr.write(`${name}: ${details.numRuns} runs, seed ${seed}\n`);
    if (details.failed) throw new Error(`${fc.defaultReportMessage(details)}\n\n${howToRepeat(name, details)}`);
  });
}

const longMs = (): number => Number(process.env.HOTCELL_FUZZ_SECONDS ?? 0) * 1000;

function howToRepeat(name: string, { seed, counterexamplePath }: { seed: number; counterexamplePath: string | null }) {
  const path = counterexamplePath === null ? '' : ` --path ${counterexamplePath}`;
  return `Repeat it with: npm run fuzz -- --target '${name}' --seed ${seed}${path}`;
}
