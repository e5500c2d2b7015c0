import { spawnSync } from 'node:child_process';

const root = new URL('../..', import.meta.url).pathname;
let isBuilt = false;

/** Builds what is stale, so that a child runs what the tests were written against. Files in one worker do it once: to look takes a quarter of a second. */
export function buildOnce(): void {
  if (isBuilt) return;
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs', '--no-types'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  isBuilt = true;
}
