import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standardImageTag } from '../../src/drivers/docker/image.ts';
import { buildImage } from '../support/crafted-image.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.docker);
const IMAGE = `hotcell-test-sleeping:${process.pid}`;
const OPENINGS = 12;
/** Half of the places for openings. */
const MALLORYS_PLACES = 4;

const hanging = () =>
  execFileSync('docker', ['ps', '--quiet', '--filter', `ancestor=${IMAGE}`], { encoding: 'utf8' })
    .split('\n')
    .filter(Boolean).length;

describe.skipIf(skipped !== undefined)("a tenant's openings that do not come to an end", () => {
  beforeAll(() => {
    const context = mkdtempSync(join(tmpdir(), 'hotcell-sleeping-'));
    const python = '/opt/hotcell/python/bin/python3';
    const script = `RUN rm ${python} && printf '#!/bin/sh\\nexec sleep 600' > ${python} && chmod 755 ${python}`;
    writeFileSync(join(context, 'Dockerfile'), [`FROM ${standardImageTag()}`, 'USER 0', script].join('\n'));
    buildImage(IMAGE, context);
    rmSync(context, { recursive: true });
  });
  afterAll(() => {
    execFileSync('docker', ['image', 'rm', '--force', IMAGE]);
  });

  it('delay no opening of another by a second', async () => {
    await using tenants = await serveTwoTenants({
      ...TARGETS.docker.options,
      allowedImages: [IMAGE],
      maxOpenings: 8,
      startTimeoutMs: 120_000,
    });
    const open = async (name: string) => {
      const took = await tenants.timed('open_session', { name });
      await tenants.call('ada', 'close_session', { session_id: name });
      return took;
    };
    await open('first');
    const alone = Math.max(await open('second'), await open('third'));
    for (let n = 0; n < OPENINGS; n += 1) {
      const opening = tenants.call('mallory', 'open_session', { image: IMAGE, limits: { memory_mb: 128 } });
      opening.catch(() => {}); // the server is closed before they end
    }
    const openings = () => tenants.hotcell.server.sessions.census().find(({ state }) => state === 'opening')?.count;
    await expect.poll(openings).toBe(OPENINGS);
    // From now on they only hold their places. What the engine needs to start them is work of the whole machine.
    await expect.poll(hanging, { timeout: 60_000 }).toBe(MALLORYS_PLACES);
    // The fastest, because others use the machine. Where a place must get free first, each takes until the start timeout.
    const beside = Math.min(await open('beside'), await open('again'), await open('third-time'));
    expect(beside).toBeLessThan(alone + 1000);
    expect(openings()).toBe(OPENINGS);
  });
});
