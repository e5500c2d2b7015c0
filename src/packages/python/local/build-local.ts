import * as z from 'zod';
import { HotcellError } from '../../../errors/hotcell-error.ts';
import { bootstrapProgram } from '../../../guest/bootstrap-program.ts';
import type { Builder, Step, StepOptions } from '../../builder/builder.ts';
import { packLayer } from '../../builder/pack-layer.ts';
import { failedStep } from '../../builder/resolver-words.ts';
import type { PythonBase } from '../described-python.ts';
import { FILES, localArguments, UV, wheelArguments } from '../uv-arguments.ts';
import type { LocalSource } from './read-local.ts';
import { type LocalFacts, readMetadata } from './stub-wheel.ts';

const SOURCE = 'source';
const WHEELS = 'wheels';

const describedSchema = z.object({ file: z.string().regex(/^[A-Za-z0-9_.+!-]+\.whl$/), metadata: z.string() });

/**
 * Builds a package of a workspace, and returns its facts and the packed layer.
 *
 * SECURITY: the builder holds files of the session, and its code: it must have no network.
 */
export async function buildLocal(
  builder: Builder,
  { base, source, mostBytes }: { base: PythonBase; source: LocalSource; mostBytes: number },
  options: StepOptions,
): Promise<{ facts: LocalFacts; packed: AsyncIterable<Buffer> }> {
  const folder = source.isWheel ? WHEELS : SOURCE;
  for (const [path, content] of source.files) await builder.write(`${folder}/${path}`, content);
  if (!source.isWheel) {
    const built = await builder.run([UV, ...wheelArguments(base.python, SOURCE, WHEELS)], options);
    requireDone(built, 'the package of the workspace could not be built');
  }
  const { onLine: _, ...quiet } = options;
  const described = await builder.run([base.python, '-I', '-c', bootstrapProgram('wheel_metadata'), WHEELS], quiet);
  requireDone(described, 'the wheel of the workspace cannot be read');
  const { file, metadata } = parsed(described.stdout);
  const installed = await builder.run([UV, ...localArguments(base.python, `${WHEELS}/${file}`)], options);
  requireDone(installed, 'the wheel of the workspace could not be installed');
  const parts = { bin: `${FILES.target}/bin`, python: FILES.target };
  return {
    facts: readMetadata(metadata),
    packed: await packLayer(builder, { python: base.python, parts, mostBytes }, options),
  };
}

function parsed(stdout: string): z.infer<typeof describedSchema> {
  try {
    return describedSchema.parse(JSON.parse(stdout));
  } catch {
    throw new HotcellError('install_failed', 'the wheel of the workspace has no metadata that can be read');
  }
}

function requireDone(step: Step, what: string): void {
  if (step.exitCode !== 0) throw failedStep(what, step);
}
