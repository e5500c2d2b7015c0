import { cleanUp, cleanUpOnSignals } from './cleanup.mjs';
import { NotTried } from './not-tried.mjs';

/**
 * One measurement in a process of its own. The parent names it; the answer is its rows, or the reason why there are
 * none.
 */
cleanUpOnSignals();
process.once('message', async ({ name, context }) => {
  let answer;
  try {
    const { measure } = await import(`./rows/${name}.mjs`);
    answer = { rows: await measure(context) };
  } catch (error) {
    answer = { [error instanceof NotTried ? 'notTried' : 'error']: error.message };
  }
  await cleanUp();
  process.send(answer, () => process.disconnect());
});
