import { describe, expect, it } from 'vitest';
import { shareOfMemory } from '../../src/directory/owner.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const MiB = 1_048_576;

describe.skipIf(skipped !== undefined)("a tenant's sessions", () => {
  it('are promised no more memory together than the quota, whatever is open or being opened', async () => {
    await using tenants = await serveTwoTenants({ maxMemoryBytesPerOwner: 1024 * MiB });
    const open = (memory_mb: number) => tenants.call('mallory', 'open_session', { limits: { memory_mb } });
    const answers = await Promise.all([512, 256, 256, 256, 512].map(open));
    const refused = answers.filter(({ body }) => body.includes('too_much_memory'));
    expect(refused).toHaveLength(2);
    expect(tenants.sessionsOf('mallory')).toHaveLength(3);
    expect(String((await open(64)).body)).toContain('--max-memory-per-owner');
    await tenants.timed('open_session', { limits: { memory_mb: 1024 } });
    const [first] = tenants.sessionsOf('mallory');
    await tenants.call('mallory', 'close_session', { session_id: first!.id });
    expect(String((await open(64)).body)).not.toContain('isError');
  });

  it('are promised no more than half of a host by default', async () => {
    await using tenants = await serveTwoTenants({ maxMemoryBytes: 1024 ** 5 });
    const { quotas } = tenants.hotcell.ownerOf('t-0');
    expect(quotas.memoryBytes).toBeGreaterThanOrEqual(shareOfMemory(0));
    const answer = await tenants.call('mallory', 'open_session', { limits: { memory_mb: 1_000_000 } });
    expect(String(answer.body)).toContain('too_much_memory');
  });
});
