import { benchHotcell, timeCalls } from '../hotcell.mjs';
import { runCode, serveForBench } from '../http-server.mjs';

const MB = 1_000_000;
const clientCount = 100;
const callsEach = 3;
const roundTrips = 200;
const warmUps = 50;
const modern = { pin: '2026-07-28' };

/** A server over HTTP: one call, a hundred concurrent clients, and the cost of an idle client. */
export async function measure({ repeats }) {
  const samples = { sdk: [], total: [], slowest: [], median: [], idle: [] };
  let answered = 0;
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const server = await serveForBench();
    const client = await server.connect(modern);
    samples.sdk.push(...(await timeSdk(client)));
    await client.close();
    samples.idle.push(await idleClientBytes(server));
    const begin = performance.now();
    const times = await Promise.all(Array.from({ length: clientCount }, (_, number) => busyClient(server, number)));
    samples.total.push(performance.now() - begin);
    samples.slowest.push(Math.max(...times));
    samples.median.push(times.sort((a, b) => a - b)[clientCount / 2]);
    answered += times.length;
    await server.stop();
  }
  const all = { text: 'all answered', met: answered === repeats * clientCount };
  const row = (what, unit, ours, more = {}) => ({ what: `process: HTTP, ${what}`, unit, ours, ...more });
  return [
    ...(await callRows(repeats, row)),
    row("the same by the SDK's client", 'ms', samples.sdk),
    row(`${clientCount} clients at once, each ${callsEach} calls in a session of its own`, 'ms', samples.total, {
      target: all,
    }),
    row('the slowest of them', 'ms', samples.slowest),
    row('the one in the middle', 'ms', samples.median),
    row('memory of a client that is connected and idle', 'MB', samples.idle, { target: { below: 1, unit: 'MB' } }),
  ];
}

/** The overhead of the server over a call of the library, in both eras. */
async function callRows(repeats, row) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  const session = await hotcell.open();
  const server = await serveForBench();
  const clients = { modern: await server.connectRaw('modern'), legacy: await server.connectRaw('legacy') };
  const samples = { library: [], modern: [], legacy: [] };
  await timeCalls(session, warmUps);
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    samples.library.push(...(await timeCalls(session, roundTrips)));
    for (const [era, client] of Object.entries(clients)) samples[era].push(...(await timeRaw(client)));
  }
  for (const client of Object.values(clients)) client.close();
  await server.stop();
  await hotcell.close();
  const baseline = { name: 'the library', samples: samples.library };
  return Object.keys(clients).map((era) =>
    row(`run_code of 1+1 in a live session, ${era} era`, 'ms', samples[era], { baseline }),
  );
}

async function timeRaw(client) {
  const session = await client.runCode('1+1');
  return timed(() => client.runCode('1+1', session));
}

async function timeSdk(client) {
  const session = await runCode(client, '1+1');
  return timed(() => runCode(client, '1+1', session));
}

async function timed(call) {
  for (let warm = 0; warm < warmUps; warm += 1) await call();
  const times = [];
  for (let count = 0; count < roundTrips; count += 1) {
    const begin = performance.now();
    await call();
    times.push(performance.now() - begin);
  }
  return times;
}

/**
 * Memory of an idle client of the legacy era, whose connections the server keeps. Clients of the modern era cost
 * nothing between calls.
 */
async function idleClientBytes(server) {
  const warm = await server.connect('legacy');
  const before = server.residentBytes();
  const clients = await Promise.all(Array.from({ length: clientCount }, () => server.connect('legacy')));
  const grown = server.residentBytes() - before;
  await Promise.all([warm, ...clients].map((client) => client.close()));
  return grown / clientCount / MB;
}

async function busyClient(server, number) {
  const begin = performance.now();
  const client = await server.connect(number % 2 === 0 ? modern : 'legacy');
  const session = await runCode(client, `x = ${number}`);
  for (let call = 1; call < callsEach; call += 1) await runCode(client, 'x + 1', session);
  await client.close();
  return performance.now() - begin;
}
