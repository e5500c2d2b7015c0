import { runCode, serveForBench } from '../http-server.mjs';

const MB = 1_000_000;
const clientCount = 100;
const callsEach = 3;
const roundTrips = 200;
const modern = { pin: '2026-07-28' };

/** A server over HTTP: one call, a hundred clients at the same moment, and what a client costs that does nothing. */
export async function measure({ repeats }) {
  const samples = { call: [], total: [], slowest: [], median: [], idle: [] };
  let answered = 0;
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const server = await serveForBench();
    const client = await server.connect(modern);
    samples.call.push(await timeCalls(client));
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
    row('run_code of 1+1 in a live session', 'ms', samples.call),
    row(`${clientCount} clients at once, each ${callsEach} calls in a session of its own`, 'ms', samples.total, {
      target: all,
    }),
    row('the slowest of them', 'ms', samples.slowest),
    row('the one in the middle', 'ms', samples.median),
    row('memory of a client that is connected and idle', 'MB', samples.idle, { target: { below: 1, unit: 'MB' } }),
  ];
}

async function timeCalls(client) {
  const session = await runCode(client, '1+1');
  const times = [];
  for (let call = 0; call < roundTrips; call += 1) {
    const begin = performance.now();
    await runCode(client, '1+1', session);
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[roundTrips / 2];
}

/** Of the older era, whose connections are kept by the server; those of the newer cost nothing between calls. */
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
