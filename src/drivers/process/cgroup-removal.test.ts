import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CGROUP_ROOT, CONTROLLERS, cgroupPlaces } from './cgroup-place.ts';
import { removeGroups } from './cgroup-removal.ts';

test('a group that is still in use is reported, and removed when its last process has gone', async (context) => {
  const group = makeGroup();
  if (group === undefined) return context.skip('no cgroup can be made here');
  const warned = once(process, 'warning');
  const busy = spawn('sleep', ['600'], { stdio: 'ignore' });
  onTestFinished(() => {
    busy.kill('SIGKILL');
  });
  writeFileSync(join(group, 'cgroup.procs'), String(busy.pid));

  await removeGroups([group], 50);
  expect(existsSync(group)).toBe(true);
  expect(await warned).toMatchObject([{ name: 'HotcellWarning', code: 'cleanup_delayed' }]);

  busy.kill('SIGKILL');
  await vi.waitFor(() => expect(existsSync(group)).toBe(false), { timeout: 10_000 });
});

function makeGroup(): string | undefined {
  try {
    const place = existsSync(join(CGROUP_ROOT, 'cgroup.controllers'))
      ? cgroupPlaces()[0]!.path
      : join(CGROUP_ROOT, CONTROLLERS[1]!);
    const group = join(place, `test-removal-${process.pid}`);
    mkdirSync(group);
    if (!existsSync(join(group, 'cgroup.procs'))) {
      rmdirSync(group);
      return undefined;
    }
    return group;
  } catch {
    return undefined;
  }
}
