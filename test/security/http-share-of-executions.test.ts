import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)("a tenant's executions that never end", () => {
  it.each([
    { maxExecutions: 4, maxSessionsPerOwner: 4 },
    { maxExecutions: 2, maxSessionsPerOwner: 4 },
  ])('delay none of another by a second: %j', async (limits) => {
    await using tenants = await serveTwoTenants(limits);
    await tenants.timed('run_code', { code: '1' });
    const before = await tenants.timed('run_code', { code: '1' });
    for (let session = 0; session < limits.maxSessionsPerOwner; session += 1) {
      const name = `s${session}`;
      await tenants.call('mallory', 'open_session', { name });
      const endless = { session_id: name, code: 'import time; time.sleep(600)', timeout_ms: 600_000, background: true };
      expect((await tenants.call('mallory', 'run_code', endless)).status).toBe(200);
    }
    const executions = () => tenants.sessionsOf('mallory').flatMap((session) => session.executions());
    const running = () => executions().filter((execution) => execution.state() === 'running').length;
    await expect.poll(running).toBe(limits.maxExecutions / 2);
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await tenants.timed('run_code', { code: '1' })).toBeLessThan(before + 1000);
    }
  });
});
