import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Hotcell, OpenOptions, Session } from '../../src/index.ts';
import { type Online, startOnline } from '../support/online.ts';
import { openTarget, reasonToSkip, type Target } from '../support/targets.ts';
import { createTestMethods } from '../support/test-methods.ts';
import type { Context, Requirement } from './context.ts';
import { asyncioRequirements } from './proofs/asyncio.ts';
import { bashRequirements } from './proofs/bash.ts';
import { callRequirements } from './proofs/calls.ts';
import { commandRequirements } from './proofs/commands.ts';
import { displayRequirements } from './proofs/displays.ts';
import { environmentRequirements } from './proofs/environment.ts';
import { executionRequirements } from './proofs/execution.ts';
import { fileRequirements } from './proofs/files.ts';
import { hiddenMemoryRequirements } from './proofs/hidden-memory.ts';
import { hostileVariableRequirements } from './proofs/hostile-variables.ts';
import { interruptRequirements } from './proofs/interrupts.ts';
import { isolationRequirements } from './proofs/isolation.ts';
import { javascriptRequirements } from './proofs/javascript.ts';
import { javascriptEndRequirements } from './proofs/javascript-ends.ts';
import { javascriptProgramRequirements } from './proofs/javascript-programs.ts';
import { javascriptQuestionRequirements } from './proofs/javascript-questions.ts';
import { journeyRequirements } from './proofs/journey.ts';
import { kernelCallRequirements } from './proofs/kernel-calls.ts';
import { kernelCounterRequirements } from './proofs/kernel-counters.ts';
import { kernelStateRequirements } from './proofs/kernel-state.ts';
import { kernelWideRequirements } from './proofs/kernel-wide.ts';
import { languageRequirements } from './proofs/languages.ts';
import { layerRequirements } from './proofs/layers.ts';
import { lifecycleRequirements } from './proofs/lifecycle.ts';
import { limitRequirements } from './proofs/limits.ts';
import { mountRequirements } from './proofs/mounts.ts';
import { networkRequirements } from './proofs/network.ts';
import { notebookRequirements } from './proofs/notebooks.ts';
import { onlineRequirements } from './proofs/online.ts';
import { packageRequirements } from './proofs/packages.ts';
import { parallelRequirements } from './proofs/parallel.ts';
import { printingRequirements } from './proofs/printing.ts';
import { programRequirements } from './proofs/programs.ts';
import { proxyRequirements } from './proofs/proxy.ts';
import { questionRequirements } from './proofs/questions.ts';
import { recipeRequirements } from './proofs/recipes.ts';
import { tracebackRequirements } from './proofs/tracebacks.ts';
import { traitRequirements } from './proofs/traits.ts';
import { variableRequirements } from './proofs/variables.ts';
import { leftOutOf } from './where-proved.ts';

/** Every requirement there is. A driver conforms when each holds for it. */
export const REQUIREMENTS: readonly Requirement[] = [
  ...executionRequirements,
  ...printingRequirements,
  ...asyncioRequirements,
  ...programRequirements,
  ...displayRequirements,
  ...tracebackRequirements,
  ...journeyRequirements,
  ...interruptRequirements,
  ...fileRequirements,
  ...notebookRequirements,
  ...questionRequirements,
  ...variableRequirements,
  ...hostileVariableRequirements,
  ...languageRequirements,
  ...parallelRequirements,
  ...commandRequirements,
  ...callRequirements,
  ...bashRequirements,
  ...recipeRequirements,
  ...limitRequirements,
  ...hiddenMemoryRequirements,
  ...javascriptRequirements,
  ...javascriptEndRequirements,
  ...javascriptQuestionRequirements,
  ...javascriptProgramRequirements,
  ...isolationRequirements,
  ...kernelCallRequirements,
  ...kernelCounterRequirements,
  ...kernelStateRequirements,
  ...kernelWideRequirements,
  ...networkRequirements,
  ...onlineRequirements,
  ...proxyRequirements,
  ...lifecycleRequirements,
  ...mountRequirements,
  ...layerRequirements,
  ...packageRequirements,
  ...traitRequirements,
  ...environmentRequirements,
];

/** The grace of impatient sessions. All others, and `interrupt:default-grace` among them, have the one that users have. */
const SHORT_GRACE_MS = 250;
/** The same in containers, whose programs take longer to react while other files use the machine. */
const SHORT_GRACE_SLOW_MS = 500;

/** Runs the whole suite against one target. The file of a driver is this one call. */
export async function describeConformance(target: Target): Promise<void> {
  const reason = await reasonToSkip(target);
  const leftOut = reason === undefined ? await leftOutOf(target) : () => undefined;
  describe.skipIf(reason !== undefined)(`${target.name} conforms${reason === undefined ? '' : ` (${reason})`}`, () => {
    let hotcell: Hotcell;
    let session: Session;
    let impatient: Promise<Hotcell> | undefined;
    let calling: Promise<Hotcell> | undefined;
    let online: Promise<{ servers: Online; hotcell: Hotcell }> | undefined;
    const tests = createTestMethods();
    beforeAll(async () => {
      hotcell = await openTarget(target);
      session = await hotcell.open();
    });
    afterAll(async () => {
      await hotcell?.close();
      await (await impatient)?.close();
      await (await calling)?.close();
      const reached = await online;
      await reached?.hotcell.close();
      reached?.servers[Symbol.dispose]();
    });

    for (const requirement of REQUIREMENTS) {
      const title = `${requirement.id}: ${requirement.title}`;
      const exemption = requirement.exempt?.[target.name];
      if (exemption !== undefined) {
        test.skip(`${title} (exempt: ${exemption})`);
        continue;
      }
      const why = leftOut(requirement);
      if (why !== undefined) {
        test.skip(`${title} (${why})`);
        continue;
      }
      test(title, async () => {
        expect.hasAssertions();
        const opened: Session[] = [];
        const open = async (from: Hotcell, options?: OpenOptions) => {
          const made = await from.open(options);
          opened.push(made);
          return made;
        };
        const context: Context = {
          target,
          hotcell,
          session,
          fresh: (options) => open(hotcell, options),
          impatient: async () => {
            impatient ??= openTarget({
              ...target,
              preloads: false,
              interruptGraceMs: target.slow === true ? SHORT_GRACE_SLOW_MS : SHORT_GRACE_MS,
            });
            return open(await impatient);
          },
          calling: async () => {
            calling ??= openTarget({ ...target, preloads: false }, { methods: tests.methods });
            return { session: await open(await calling), tests };
          },
          online: async () => {
            online ??= openOnline({ ...target, preloads: false });
            const { servers, hotcell: reaching } = await online;
            return { servers, open: (network) => open(reaching, { network }) };
          },
        };
        try {
          await requirement.prove(context);
        } finally {
          await Promise.all(opened.map((made) => made.close()));
        }
      });
    }
  });
}

async function openOnline(target: Target): Promise<{ servers: Online; hotcell: Hotcell }> {
  const servers = await startOnline();
  return { servers, hotcell: await servers.trusting(() => openTarget(target, servers.options)) };
}
