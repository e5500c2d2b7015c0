import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Hotcell, Session } from '../../src/index.ts';
import { openTarget, reasonToSkip, type Target } from '../support/targets.ts';
import type { Context, Requirement } from './context.ts';
import { asyncioRequirements } from './proofs/asyncio.ts';
import { bashRequirements } from './proofs/bash.ts';
import { displayRequirements } from './proofs/displays.ts';
import { executionRequirements } from './proofs/execution.ts';
import { fileRequirements } from './proofs/files.ts';
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
import { lifecycleRequirements } from './proofs/lifecycle.ts';
import { limitRequirements } from './proofs/limits.ts';
import { mountRequirements } from './proofs/mounts.ts';
import { networkRequirements } from './proofs/network.ts';
import { notebookRequirements } from './proofs/notebooks.ts';
import { programRequirements } from './proofs/programs.ts';
import { questionRequirements } from './proofs/questions.ts';
import { recipeRequirements } from './proofs/recipes.ts';
import { tracebackRequirements } from './proofs/tracebacks.ts';
import { variableRequirements } from './proofs/variables.ts';

/** Every requirement there is. A driver conforms when each holds for it. */
export const REQUIREMENTS: readonly Requirement[] = [
  ...executionRequirements,
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
  ...bashRequirements,
  ...recipeRequirements,
  ...limitRequirements,
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
  ...lifecycleRequirements,
  ...mountRequirements,
];

/** Runs the whole suite against one target. The file of a driver is this one call. */
export async function describeConformance(target: Target): Promise<void> {
  const reason = await reasonToSkip(target);
  describe.skipIf(reason !== undefined)(`${target.name} conforms${reason === undefined ? '' : ` (${reason})`}`, () => {
    let hotcell: Hotcell;
    let session: Session;
    beforeAll(async () => {
      hotcell = await openTarget(target);
      session = await hotcell.open();
    });
    afterAll(async () => hotcell?.close());

    for (const requirement of REQUIREMENTS) {
      const title = `${requirement.id}: ${requirement.title}`;
      const exemption = requirement.exempt?.[target.name];
      if (exemption !== undefined) {
        test.skip(`${title} (exempt: ${exemption})`);
        continue;
      }
      test(title, async () => {
        const opened: Session[] = [];
        const context: Context = {
          target,
          hotcell,
          session,
          fresh: async (options) => {
            const made = await hotcell.open(options);
            opened.push(made);
            return made;
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
