import { HotcellError } from '../../errors/hotcell-error.ts';
import { confirm } from '../confirm.ts';
import { standardOutputs } from '../output.ts';
import { findPlan, isEmpty, type Plan } from './plan.ts';
import { keptLines, planText, remainingSteps } from './plan-text.ts';
import { remove } from './remove.ts';
import { requireNoServer, runningServers } from './running-servers.ts';

export interface UninstallFlags {
  readonly yes?: boolean;
  readonly keepImages?: boolean;
  readonly json?: boolean;
}

/** Removes what Hotcell has put on this machine, after asking. Returns the exit code. */
export async function uninstall(flags: UninstallFlags): Promise<number> {
  const { stdout, stderr } = standardOutputs();
  const plan = await findPlan({ keepImages: flags.keepImages === true });
  const { kept } = plan.dataFolder;
  const running = await runningServers(plan.dataFolder.path);
  const isWanted = flags.yes === true;
  if (flags.json && !isWanted) {
    await stdout.json({ removed: false, ...running, ...asJson(plan) });
    return 0;
  }
  if (isEmpty(plan)) {
    const text = ['There is nothing to remove.', ...keptLines(plan.dataFolder)].join('\n');
    await (flags.json ? stdout.json({ removed: true, removals: [], kept }) : stdout.say(text));
    return 0;
  }
  if (!flags.json) await stdout.say(planText(plan, stdout.paint));
  requireNoServer(running);
  if (!isWanted && !(await agrees(stderr.isTTY))) {
    await stdout.say('Nothing was removed.');
    return 1;
  }
  requireNoServer(await runningServers(plan.dataFolder.path)); // a client may have started one meanwhile
  const removals = await remove(plan);
  const failed = removals.filter(({ problem }) => problem !== undefined);
  if (flags.json) await stdout.json({ removed: failed.length === 0, removals, kept });
  else {
    for (const { what, problem } of failed) await stderr.say(`hotcell: not removed: ${what}: ${problem}`);
    await stdout.say(
      [`Removed ${removals.length - failed.length} of ${removals.length}.`, ...remainingSteps(plan)].join('\n'),
    );
  }
  return failed.length === 0 ? 0 : 1;
}

/** Asks at a terminal. Without one nobody can agree, so it refuses. */
async function agrees(isTerminal: boolean): Promise<boolean> {
  if (!isTerminal || !process.stdin.isTTY) {
    throw new HotcellError('invalid_argument', 'nothing was removed: there is no terminal to ask at', {
      remedy: 'Read the list, then run: hotcell uninstall --yes',
    });
  }
  return confirm('Remove all of this?');
}

function asJson({ clients, ...others }: Plan) {
  return { clients: clients.map(({ name, changes }) => ({ name, files: changes.map(({ path }) => path) })), ...others };
}
