import { ensureJupyter } from './baselines/jupyter-environment.mjs';
import { judge } from './judge.mjs';
import { describeMachine } from './machine.mjs';
import { runRow } from './run-row.mjs';
import { sessionPython } from './session-python.mjs';
import { standardImage } from './standard-image.mjs';

/**
 * Takes the measurements one after another, each in a process of its own. A failed one becomes a row with the reason.
 */
export async function measureAll(steps, { names, repeats, signal }) {
  const date = new Date().toISOString();
  const { context, versions } = await prepareContext(steps, repeats);
  const rows = [];
  for (const name of names) rows.push(...(await measureOne(steps, name, context, signal)));
  return { date, repeats, machine: await describeMachine(versions), rows: rows.map(judge) };
}

async function measureOne({ step }, name, context, signal) {
  signal.throwIfAborted();
  try {
    return await step(name, () => runRow(name, context, { signal }));
  } catch (error) {
    signal.throwIfAborted();
    return [{ what: name, notTried: `failed: ${error.message}`, failed: true }];
  }
}

async function prepareContext(steps, repeats) {
  const image = await standardImage();
  const found = await sessionPython().catch((error) => ({ reason: error.message }));
  if (found.reason !== undefined) {
    const jupyter = { reason: `there is no Python of sessions to compare with: ${found.reason}` };
    return { context: { repeats, image, jupyter }, versions: {} };
  }
  const jupyter = await ensureJupyter(steps, found);
  return {
    context: { repeats, image, jupyter, python: found.python },
    versions: { ...found.versions, ...jupyter.versions },
  };
}
