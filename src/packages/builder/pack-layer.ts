import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import type { Builder, StepOptions } from './builder.ts';
import { failedStep } from './resolver-words.ts';

const PACKED = 'layer.packed';

/** Packs the parts of a layer that a builder has made, and returns the bytes for `unpackTree`. `parts` are folders of the workspace. */
export async function packLayer(
  builder: Builder,
  { python, parts, mostBytes }: { python: string; parts: Readonly<Record<string, string>>; mostBytes: number },
  options: StepOptions,
): Promise<AsyncIterable<Buffer>> {
  const places = Object.entries(parts).map(([part, folder]) => `${part}=${folder}`);
  const program = [python, '-I', '-c', bootstrapProgram('pack_tree'), PACKED, String(mostBytes), ...places];
  const step = await builder.run(program, options);
  if (step.exitCode !== 0) throw failedStep('the installed packages cannot be taken over', step);
  return builder.stream(PACKED);
}
