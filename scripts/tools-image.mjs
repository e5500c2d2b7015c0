import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, env } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { root } from './dependencies.mjs';
import { capture } from './run.mjs';
import { prepare } from './steps.mjs';

const context = join(root, 'test/images/tools');
const bases = ['python:3.12-slim-bookworm', 'hotcell/base:bookworm'];
const WAIT_MS = 600_000;

/**
 * Builds the image with compilers that the tests use (test/support/tools-image.ts), on the base image of docker's
 * set-up.
 */
export async function ensureToolsImage({ step, StepError }, { wait = false } = {}) {
  const hash = createHash('sha256').update(readFileSync(join(context, 'Dockerfile')));
  const tag = `hotcell/test-tools:${hash.digest('hex').slice(0, 12)}`;
  if (await hasImage(tag)) return;
  await step('Image with compilers, for the tests', async () => {
    const base = await findBase(wait ? Date.now() + WAIT_MS : 0);
    if (base === undefined) throw new StepError('There is no base image.', { command: 'hotcell setup docker' });
    // The host's network, because the packages come from Debian and an engine in a container may have no bridge.
    const args = ['build', '--network', 'host', '--build-arg', `BASE=${base}`, '--force-rm', '--tag', tag, context];
    const { exitCode, output } = await capture('docker', args, { env: { ...env, DOCKER_BUILDKIT: '0' } });
    if (exitCode !== 0) throw new StepError(output.trim(), { command: ['docker', ...args].join(' ') });
  });
}

async function findBase(until) {
  for (;;) {
    for (const base of bases) if (await hasImage(base)) return base;
    if (Date.now() >= until) return undefined;
    await sleep(1000);
  }
}

async function hasImage(name) {
  return (await capture('docker', ['image', 'inspect', name])).exitCode === 0;
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  await ensureToolsImage(await prepare(), { wait: argv.includes('--wait') }).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
}
