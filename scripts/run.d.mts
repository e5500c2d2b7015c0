import type { SpawnOptions } from 'node:child_process';

export function run(program: string, args: readonly string[], options?: SpawnOptions): Promise<number>;
export function capture(
  program: string,
  args: readonly string[],
  options?: SpawnOptions & { echo?: boolean },
): Promise<{ exitCode: number; output: string }>;
