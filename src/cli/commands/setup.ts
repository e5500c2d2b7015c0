import { Command } from 'commander';
import { type Report, StepError, type StepEvent, terminalReport } from '../../lib/steps.ts';
import type { Confirm } from '../../lib/superuser.ts';
import { howItIsCalled } from '../how-called.ts';
import { promptStream, standardOutputs, standardScreen } from '../output.ts';
import { namedArgument } from '../sandbox-options.ts';
import { ownText } from '../terminal-filter.ts';
import { unknownName } from '../unknown-name.ts';

const drivers = ['process', 'docker', 'gvisor'] as const;
type SetupDriver = (typeof drivers)[number];

interface SetupOptions {
  json?: boolean;
  yes?: boolean;
  rebuild?: boolean;
}

/** `hotcell setup [driver]`: prepares this machine for one driver. */
export function setupCommand(): Command {
  const byDefault: SetupDriver = process.platform === 'linux' ? 'process' : 'docker';
  return new Command('setup')
    .description('Prepare this machine for sandboxes: install, build and check the requirements of a driver.')
    .addArgument(namedArgument('[driver]', 'driver to set up', drivers).default(byDefault))
    .option('--yes', 'use sudo without asking if root is needed')
    .option('--rebuild', 'docker, gvisor: rebuild the standard image')
    .option('--json', 'print the result as JSON on stdout, without progress')
    .addHelpText('after', examples)
    .action(async (named: string, options: SetupOptions) => {
      const driver = drivers.find((each) => each === named);
      if (driver === undefined) throw unknownName('driver', named, drivers);
      process.exitCode = await setUp(driver, options);
    });
}

const examples = `
Examples:
  $ hotcell setup            bubblewrap and a Python environment (Linux); the standard image elsewhere
  $ hotcell setup docker     the standard image, on a pulled base or Debian packages
  $ hotcell setup gvisor     the same, plus runsc, registered with the Docker engine
  $ hotcell setup --json | jq .python.version
`;

async function setUp(driver: SetupDriver, options: SetupOptions): Promise<number> {
  const events: StepEvent[] = [];
  const report: Report = options.json ? (event) => events.push(event) : screenReport();
  const abort = new AbortController();
  const onInterrupt = () => abort.abort(new StepError('Interrupted. Partial results were removed.'));
  process.once('SIGINT', onInterrupt);
  const { stdout } = standardOutputs();
  try {
    const result = await runSetup(driver, options, report, abort.signal);
    if (options.json) await stdout.json({ driver, ready: true, ...result, steps: steps(events) });
    else await stdout.say(`Ready. Try: ${howItIsCalled()} run -c 'print(6 * 7)' --isolation ${driver}`);
    return 0;
  } catch (error) {
    const cause = abort.signal.aborted ? abort.signal.reason : error;
    if (!(cause instanceof StepError)) throw cause;
    const failure = { message: cause.message, ...(cause.command ? { command: cause.command } : {}) };
    if (options.json) await stdout.json({ driver, ready: false, error: failure, steps: steps(events) });
    else if (abort.signal.aborted) report({ kind: 'note', text: cause.message });
    return abort.signal.aborted ? 130 : 1;
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

/** Imports only the set-up of the driver that is asked for. */
async function runSetup(driver: SetupDriver, options: SetupOptions, report: Report, signal: AbortSignal) {
  const { resolveDataDir } = await import('../../config/load.ts');
  const { openDataFolder } = await import('../../config/folders.ts');
  const dataDir = resolveDataDir();
  openDataFolder(dataDir);
  const confirm = confirmWith(options, report);
  const rebuild = Boolean(options.rebuild);
  switch (driver) {
    case 'process':
      return (await import('../../drivers/process/setup/index.ts')).setupProcess({ dataDir, report, confirm, signal });
    case 'docker':
      return (await import('../../drivers/docker/setup/index.ts')).setupDocker({ dataDir, report, signal, rebuild });
    case 'gvisor':
      return (await import('../../drivers/gvisor/setup.ts')).setupGvisor({ dataDir, report, confirm, signal, rebuild });
  }
}

/** Asks on a terminal, agrees with --yes, and refuses if there is no terminal. */
function confirmWith(options: SetupOptions, report: Report): Confirm {
  return async (question) => {
    if (!options.yes && (options.json || !process.stdin.isTTY || !standardOutputs().stderr.isTTY)) return false;
    // A line of its own ends the spinner, which would overwrite the question and sudo's prompt.
    report({ kind: 'note', text: question });
    if (options.yes) return true;
    const { confirm } = await import('@clack/prompts');
    return (await confirm({ message: 'Continue?', output: promptStream() })) === true;
  };
}

/**
 * SECURITY: output of pip, apt or an engine is shown in a line that is redrawn, so cursor sequences in it must not
 * reach the terminal.
 */
function screenReport(): Report {
  const screen = standardScreen('stderr');
  const report = terminalReport({
    isTTY: screen.isTTY,
    columns: screen.columns(),
    hasColors: () => screen.colours,
    write: (text) => screen.draw(text),
  });
  return (event) => {
    const shown = Object.entries(event).map(([name, value]) => [
      name,
      typeof value === 'string' ? ownText(value) : value,
    ]);
    report(Object.fromEntries(shown) as StepEvent);
  };
}

function steps(events: StepEvent[]) {
  return events.filter((event) => event.kind === 'finished' || event.kind === 'failed');
}
