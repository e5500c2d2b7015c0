import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standardImageTag } from '../../src/drivers/docker/image.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.docker);
const IMAGE = `hotcell-test-sleeping:${process.pid}`;
const OPENINGS = 12;

describe.skipIf(skipped !== undefined)("a tenant's openings that do not come to an end", () => {
  beforeAll(() => {
    const context = mkdtempSync(join(tmpdir(), 'hotcell-sleeping-'));
    const python = '/opt/hotcell/python/bin/python3';
    const script = `RUN rm ${python} && printf '#!/bin/sh\\nexec sleep 600' > ${python} && chmod 755 ${python}`;
    writeFileSync(join(context, 'Dockerfile'), [`FROM ${standardImageTag()}`, 'USER 0', script].join('\n'));
    const args = ['build', '--quiet', '--force-rm', '--network', 'none', '--tag', IMAGE, context];
    execFileSync('docker', args, { env: { ...process.env, DOCKER_BUILDKIT: '0' } });
    rmSync(context, { recursive: true });
  });
  afterAll(() => {
    execFileSync('docker', ['image', 'rm', '--force', IMAGE]);
  });

  it('delay no opening of another by a second', async () => {
    await using tenants = await serveTwoTenants({
      ...TARGETS.docker.options,
      allowedImages: [IMAGE],
      startTimeoutMs: 20_000,
    });
    const open = async (name: string) => {
      const took = await tenants.timed('open_session', { name });
      await tenants.call('ada', 'close_session', { session_id: name });
      return took;
    };
    await open('first');
    const alone = Math.max(await open('second'), await open('third'));
    for (let n = 0; n < OPENINGS; n += 1) {
      const hanging = tenants.call('mallory', 'open_session', { image: IMAGE, limits: { memory_mb: 128 } });
      hanging.catch(() => {}); // the server is closed before they end
    }
    const openings = () => tenants.hotcell.server.sessions.census().find(({ state }) => state === 'opening')?.count;
    await expect.poll(openings).toBe(OPENINGS);
    expect(await open('beside')).toBeLessThan(alone + 1000);
    expect(openings()).toBe(OPENINGS);
  });
});
