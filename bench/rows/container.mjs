import { startContainer, timeDockerRun, whyNoContainers } from '../baselines/docker.mjs';
import { benchHotcell, pandasCode, pandasOutput, timeCalls, timeFirstResult } from '../hotcell.mjs';

const claimsPerRepeat = 3;
const callsPerRepeat = 100;

/**
 * A pooled container → first pandas result, compared with a new container and a new Python in a running one; then calls
 * in a live session.
 */
export async function measureContainer({ repeats, image }, { isolation, runtime, callMs }) {
  const names = {
    claim: `${isolation}, pooled: open → first pandas result`,
    call: `${isolation}: 1+1 in a live session`,
  };
  const targets = { claim: { timesBetter: 20 }, call: { atMost: callMs, unit: 'ms' } };
  const notTried = (reason) => [
    { what: names.claim, target: targets.claim, notTried: reason },
    { what: names.call, target: targets.call, notTried: reason },
  ];
  const missing = await whyNoContainers({ image, runtime });
  if (missing !== undefined) return notTried(missing);
  const hotcell = await benchHotcell({ isolation, poolSize: 1 });
  const session = await hotcell.open().catch((error) => error);
  if (session instanceof Error) return notTried(session.message);
  const samples = await measureInTurns(hotcell, session, { image, runtime }, repeats);
  await hotcell.close();
  const claim = (name, theirs) => ({
    what: names.claim,
    unit: 'ms',
    ours: samples.claim,
    baseline: { name, samples: theirs },
    target: targets.claim,
  });
  return [
    claim('docker run', samples.run),
    claim('docker exec', samples.exec),
    {
      what: names.call,
      unit: 'ms',
      ours: samples.call,
      baseline: { name: 'docker exec', samples: samples.execCall },
      target: targets.call,
    },
  ];
}

async function measureInTurns(hotcell, session, container, repeats) {
  const samples = { claim: [], call: [], run: [], exec: [], execCall: [] };
  const running = await startContainer(container);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    for (let claim = 0; claim < claimsPerRepeat; claim += 1) {
      await hotcell.settled();
      samples.claim.push(await timeFirstResult(hotcell));
    }
    await hotcell.settled();
    samples.run.push(await timeDockerRun(container, pandasCode, pandasOutput));
    samples.exec.push(await running.timeExec(pandasCode, pandasOutput));
    samples.call.push(...(await timeCalls(session, callsPerRepeat)));
    samples.execCall.push(await running.timeExec('print(1+1)', '2\n'));
  }
  await running.remove();
  return samples;
}
