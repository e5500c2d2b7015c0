import { HotcellError } from '../../errors/hotcell-error.ts';
import { promptStream, standardOutputs } from '../output.ts';
import { findPlan, isEmpty, type Plan } from './plan.ts';
import { planText, remainingSteps } from './plan-text.ts';
import { remove } from './remove.ts';

export interface UninstallFlags {
  readonly yes?: boolean;
  readonly keepImages?: boolean;
  readonly json?: boolean;
}

/** Removes what Hotcell has put on this machine, after asking. Returns the exit code. */
export async function uninstall(flags: UninstallFlags): Promise<number> {
  const { stdout, stderr } = standardOutputs();
  const { plan, servers } = await findPlan({ keepImages: flags.keepImages === true });
  const isWanted = flags.yes === true;
  if (flags.json && !isWanted) {
    await stdout.json({ removed: false, servers, ...asJson(plan) });
    return 0;
  }
  if (isEmpty(plan)) {
    await (flags.json ? stdout.json({ removed: true, removals: [] }) : stdout.say('There is nothing to remove.'));
    return 0;
  }
  if (!flags.json) await stdout.say(planText(plan, stdout.paint));
  if (servers.length > 0) throw running(servers.map(({ pid }) => pid));
  if (!isWanted && !(await agrees(stderr.isTTY))) {
    await stdout.say('Nothing was removed.');
    return 1;
  }
  const removals = await remove(plan);
  const failed = removals.filter(({ problem }) => problem !== undefined);
  if (flags.json) await stdout.json({ removed: failed.length === 0, removals });
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
  const { confirm } = await import('@clack/prompts');
  return (await confirm({ message: 'Remove all of this?', initialValue: false, output: promptStream() })) === true;
}

function running(pids: readonly number[]): HotcellError {
  return new HotcellError('invalid_argument', `nothing was removed: Hotcell is running (pid ${pids.join(', ')})`, {
    remedy: `End it first, such as the client that started it; or run: kill ${pids.join(' ')}`,
  });
}

function asJson({ clients, ...others }: Plan) {
  return { clients: clients.map(({ name, changes }) => ({ name, files: changes.map(({ path }) => path) })), ...others };
}
