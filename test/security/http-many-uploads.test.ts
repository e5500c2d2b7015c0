import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);

describe.skipIf(skipped !== undefined)('forty uploads of a megabyte at once', () => {
  it('are all written, and the sandbox keeps its files', async () => {
    await using tenants = await serveTwoTenants();
    const { hotcell, tokens } = tenants;
    const opened = await tenants.call('ada', 'open_session', { name: 'work' });
    expect(opened.status).toBe(200);
    const put = (name: string, body: Uint8Array | string) =>
      hotcell.send('PUT', `/files/work/${name}`, { token: tokens.ada, body });
    expect((await put('precious', 'data')).status).toBe(201);
    const content = Buffer.alloc(1_000_000, 'x');
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => put(`file-${at}`, content)));
    expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
    const kept = await hotcell.send('GET', '/files/work/precious', { token: tokens.ada });
    expect(kept.body.toString()).toBe('data');
  });
});
