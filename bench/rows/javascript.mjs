import { execFile } from 'node:child_process';
import { execPath } from 'node:process';
import { promisify } from 'node:util';
import { benchHotcell } from '../hotcell.mjs';

const callsPerRepeat = 200;
const javascript = { language: 'javascript' };
const run = promisify(execFile);

/** The first JavaScript in a session, and `1+1` after that; compared with starting Node from a shell. */
export async function measure({ repeats }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  const samples = { first: [], typed: [], calls: [], node: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const session = await hotcell.open();
    await session.run('1');
    samples.first.push(await timed(() => session.run('1 + 1', javascript)));
    samples.typed.push(await timed(() => session.run('const n: number = 1; n', { language: 'typescript' })));
    for (let call = 0; call < callsPerRepeat; call += 1) {
      samples.calls.push(await timed(() => session.run('1 + 1', javascript)));
    }
    await session.close();
    samples.node.push(await timed(() => run(execPath, ['--print', '1 + 1'])));
  }
  await hotcell.close();
  const row = (what, ours) => ({ what, unit: 'ms', ours, baseline: { name: 'node --print', samples: samples.node } });
  return [
    row('process: first JavaScript result of a live session', samples.first),
    row('process: first TypeScript result after that', samples.typed),
    row('process: 1+1 in JavaScript in a live session', samples.calls),
  ];
}

async function timed(work) {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}
