import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { createTreeChecks } from './tree-entry.ts';

it('links of a tree are checked in turns, however many there are and however deep they lead', async () => {
  const checks = createTreeChecks();
  const depths = Array.from({ length: 99 }, (_, at) => `python${'/aaa'.repeat(at)}`);
  for (const path of depths) checks.add({ kind: 'folder', path });
  const target = `${'./'.repeat(90)}${depths.at(-1)!.slice('python/'.length)}`;
  for (let at = 0; at < 20_000; at += 1) checks.add({ kind: 'link', path: `python/l${at}`, target });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await checks.requireWholeLinks();
  delay.disable();
  // All at once took a minute.
  expect(delay.max / 1e6).toBeLessThan(2000);
});

it('paths of a tree are bounded together, because they are held while it is unpacked', () => {
  const checks = createTreeChecks();
  const target = 'y'.repeat(1000);
  checks.add({ kind: 'folder', path: 'python' });
  expect(() => {
    for (let at = 0; at < 80_000; at += 1) checks.add({ kind: 'link', path: `python/${at}`, target });
  }).toThrow('too long');
});
