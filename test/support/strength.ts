import { reasonToSkip, requireAll, type Target } from './targets.ts';

/** How much a test does: `plain` in a run that people wait for, `all` with --require-all. Even `plain` is enough for what the test would find where a barrier is off. */
export function strength<T>({ plain, all }: { readonly plain: T; readonly all: T }): T {
  return requireAll() ? all : plain;
}

/**
 * Why a target is not tried by a test that finds the same with another one: it cannot be, or a plain run leaves it to that other, where that can be tried.
 * It is for what Hotcell does in the same way on both. Where their barriers differ, only --require-all shows that the other one holds.
 */
export async function reasonToLeaveTo(other: Target, target: Target): Promise<string | undefined> {
  const reason = await reasonToSkip(target);
  if (reason !== undefined || target === other || requireAll() || (await reasonToSkip(other)) !== undefined)
    return reason;
  return `the same with ${other.name}: tried there, and here with --require-all`;
}

/** Why a plain run leaves something out. The words say where it is shown instead, or what it costs. */
export function onlyWithAll(why: string): string | undefined {
  return requireAll() ? undefined : `${why}; here with --require-all`;
}
