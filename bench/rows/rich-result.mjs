import { startJupyter } from '../baselines/jupyter.mjs';
import { benchHotcell } from '../hotcell.mjs';

const callsPerRepeat = 50;
const prepare = 'import pandas as pd; frame = pd.DataFrame({"number": range(100), "half": 0.5, "name": "a name"})';

/**
 * A frame as the value of an execution, as text and HTML; compared with Jupyter, which sends the same, and with text
 * alone.
 */
export async function measure({ repeats, jupyter }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  const session = await hotcell.open();
  await session.run(prepare);
  const kernels = jupyter.python === undefined ? undefined : startJupyter(jupyter.python);
  await kernels?.ask('open');
  await kernels?.ask('calls', { code: prepare, count: 1 });
  await kernels?.ask('calls', { code: 'frame', count: 10 });
  const [rich, added, theirs] = [[], [], []];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const { withHtml, textAlone } = await timeInTurns(session);
    rich.push(...withHtml);
    added.push(median(withHtml) - median(textAlone));
    if (kernels === undefined) continue;
    theirs.push(...(await kernels.ask('calls', { code: 'frame', count: callsPerRepeat })).samples);
  }
  await kernels?.close();
  await hotcell.close();
  const baseline = kernels === undefined ? { notTried: jupyter.reason } : { samples: theirs };
  return [
    {
      what: 'process: a frame of 100 rows as the value, text and HTML',
      unit: 'ms',
      ours: rich,
      baseline: { name: 'Jupyter', ...baseline },
    },
    { what: 'process: what the HTML adds to the text of that frame', unit: 'ms', ours: added },
  ];
}

/** Times the same frame as rich value and as text alone: `frame` and `str(frame)` differ only by the HTML. */
async function timeInTurns(session) {
  const [withHtml, textAlone] = [[], []];
  for (let call = 0; call < callsPerRepeat + 5; call += 1) {
    const rich = await timed(session, 'frame', 1);
    const plain = await timed(session, 'str(frame)', 0);
    if (call < 5) continue;
    withHtml.push(rich);
    textAlone.push(plain);
  }
  return { withHtml, textAlone };
}

async function timed(session, code, representations) {
  const begin = performance.now();
  const { value } = await session.run(code);
  const durationMs = performance.now() - begin;
  if (value?.representations.length !== representations) throw new Error(`${code}: not the value that was expected`);
  return durationMs;
}

function median(samples) {
  return samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)];
}
