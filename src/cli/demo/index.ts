import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.ts';
import { durationText, sizeText } from '../../lib/units.ts';
import { openHotcell, type Session } from '../../main.ts';
import type { Isolation } from '../../sandbox/isolation.ts';
import { exitCodeOfOutcome } from '../../sandbox/outcome-table.ts';
import { holdPlace, type NamedPlace } from '../named-place.ts';
import { type Outputs, standardOutputs } from '../output.ts';
import type { Paint } from '../print.ts';
import { saveArtifacts, savedLines } from '../run/artifacts.ts';
import { endingText } from '../run/ending.ts';
import { showLive } from '../run/live-output.ts';
import { isolationRequest } from '../run/options.ts';
import { howToGoOn } from './how-to-go-on.ts';
import { missingModules } from './missing-modules.ts';

export interface DemoOptions {
  readonly isolation?: string;
  /** Path of the chart on the host. */
  readonly out: string;
  readonly json?: boolean;
}

/** Runs the worked example: a CSV goes in, a summary and a chart come out. Returns the exit code. */
export async function demo(options: DemoOptions): Promise<number> {
  const outputs = standardOutputs();
  const narrator = createNarrator(options.json === true, outputs);
  const isolation = options.isolation === undefined ? {} : { isolation: isolationRequest(options.isolation) };
  using out = holdPlace(options.out);
  await using hotcell = await openHotcell({ poolSize: 0, ...isolation });

  const session = await narrator.step('Open a sandbox', () => hotcell.open());
  for (const line of isolationLines(session.isolation)) narrator.say(line);

  const csv = await exampleFile('sales.csv');
  await narrator.step(`Write sales.csv into it (${sizeText(csv.length)})`, () => session.files.write('sales.csv', csv));

  const missing = await missingModules(session, ['pandas', 'matplotlib']);
  const program = missing.length === 0 ? 'summary.py' : 'summary_plain.py';
  const { exitCode, ...summary } = await summarise(session, program, { out, options, narrator, outputs });
  if (options.json) {
    const findings = { exitCode, isolation: session.isolation, program, missing, ...summary };
    await outputs.stdout.json(findings);
    return exitCode;
  }
  if (missing.length > 0) narrator.say(...missingLines(missing, session.isolation));
  else if (exitCode === 0) await askAgain(session, narrator);
  narrator.say('', ...howToGoOn());
  return exitCode;
}

interface Telling {
  readonly out: NamedPlace;
  readonly options: DemoOptions;
  readonly narrator: Narrator;
  readonly outputs: Outputs;
}

async function summarise(session: Session, program: string, { out, options, narrator, outputs }: Telling) {
  const code = (await exampleFile(program)).toString('utf8');
  narrator.say(narrator.paint('bold', `Run examples/sales/${program} in it:`));
  const execution = session.run(code, { filename: program });
  if (!options.json) await showLive(execution, outputs);
  const result = await execution;
  const ending = endingText(result.outcome);
  if (ending !== undefined && !options.json) await outputs.stderr.say(ending);
  narrator.done(`Ran for ${durationText(result.durationMs)}, imports included`);
  const nothing = { saved: [], notSaved: [] };
  const { saved, notSaved } = result.artifacts.length === 0 ? nothing : await saveArtifacts(result, session.files, out);
  for (const line of savedLines({ saved: [], notSaved })) narrator.say(line);
  if (saved.length > 0) {
    narrator.done(`The chart is on your machine: ${narrator.paint('bold', saved.join(', '))}`);
  }
  const { outcome, stdout, durationMs } = result;
  return { exitCode: exitCodeOfOutcome(outcome), outcome, stdout, durationMs, saved };
}

/** Shows that a session, unlike a script, keeps its variables. */
async function askAgain(session: Session, narrator: Narrator): Promise<void> {
  const code = "sales.groupby('product').units.sum().idxmax()";
  const begin = performance.now();
  const { value } = await session.run(code);
  narrator.done(
    `Ask again, variables still there: ${code} → ${value?.text} (${durationText(performance.now() - begin)})`,
  );
}

/** Names the isolation, and why it is not a stronger one. */
function isolationLines({ driver, level, passedOver }: Isolation): string[] {
  return [
    `  isolation: ${driver} (level ${level})`,
    ...passedOver.map(({ driver: other, reason }) => `  not ${other}: ${reason}`),
  ];
}

function missingLines(missing: readonly string[], { driver }: Isolation): string[] {
  return [
    `! No chart: this sandbox's Python lacks ${missing.join(' and ')}.`,
    `  → With a package index in reach, run: hotcell setup ${driver}`,
  ];
}

function exampleFile(name: string): Promise<Buffer> {
  return readFile(join(packageRoot(), 'examples', 'sales', name));
}

interface Narrator {
  readonly paint: Paint;
  say(...lines: string[]): void;
  done(text: string): void;
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
}

function createNarrator(silent: boolean, { stdout }: Outputs): Narrator {
  const { paint } = stdout;
  const say = (...lines: string[]) => {
    if (!silent) void stdout.say(lines.join('\n'));
  };
  const done = (text: string) => say(`${paint('green', '✓')} ${text}`);
  return {
    paint,
    say,
    done,
    step: async (name, work) => {
      const begin = performance.now();
      const result = await work();
      done(`${name} ${paint('dim', `(${durationText(performance.now() - begin)})`)}`);
      return result;
    },
  };
}
