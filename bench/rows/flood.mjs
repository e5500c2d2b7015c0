import { benchHotcell } from '../hotcell.mjs';

const GB = 1_000_000_000;
const MB = 1_000_000;
const piece = 65_536;
const pieces = Math.ceil(GB / piece);
const code = `
import sys
text = 'x' * ${piece - 1} + '\\n'
for _ in range(${pieces}):
    sys.stdout.write(text)
`;

/**
 * A program prints a gigabyte: the growth of the host process, and the throughput. Runs in a process of its own, so
 * that earlier measurements do not count.
 */
export async function measure({ repeats }) {
  const hotcell = await benchHotcell({ isolation: 'process', poolSize: 0 });
  const session = await hotcell.open();
  await session.run('print(1)');
  globalThis.gc();
  const before = process.memoryUsage.rss();
  const samples = { growth: [], throughput: [] };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const { peak, durationMs } = await printOnce(session);
    samples.growth.push((peak - before) / MB);
    samples.throughput.push((pieces * piece) / MB / (durationMs / 1000));
  }
  await hotcell.close();
  return [
    {
      what: 'process: 1 GB printed, growth of the host process',
      unit: 'MB',
      ours: samples.growth,
      target: { worstBelow: 50, unit: 'MB' },
    },
    { what: 'process: 1 GB printed, throughput', unit: 'MB/s', ours: samples.throughput },
  ];
}

async function printOnce(session) {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(look, 10);
  const begin = performance.now();
  const result = await session.run(code, { timeoutMs: 300_000 });
  const durationMs = performance.now() - begin;
  clearInterval(timer);
  look();
  const seen = Buffer.byteLength(result.stdout) + (result.truncation?.stdoutDroppedBytes ?? 0);
  if (result.outcome.kind !== 'ok' || seen < pieces * piece) {
    throw new Error(`only ${seen} bytes arrived: ${JSON.stringify(result.outcome)}`);
  }
  return { peak, durationMs };
}
