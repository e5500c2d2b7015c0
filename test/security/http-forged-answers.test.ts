import { describe, expect, it } from 'vitest';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);

/** Code that replaces the answers of a Python kernel by `body`, a Python expression for bytes. */
const forge = (body: string) => `
import hotcell_guest.answers.answer as answers
_body = ${body}
answers._made = lambda kind, asked: ({"ok": True}, _body)
len(_body)`;

describe.skipIf(skipped !== undefined)('answers of a kernel that user code has written', () => {
  it('inspect_variables shows no more than a page of invisible characters', async () => {
    await using tenants = await serveTwoTenants();
    const one = `b'{"name":"n","type":"t","summary":"' + b'\\x7f' * 41_900 + b'"}'`;
    const made = await tenants.call('mallory', 'run_code', {
      code: forge(`b'{"total":24,"variables":[' + b','.join([${one}] * 24) + b']}'`),
    });
    expect(made.body.toString()).toContain('1006'); // a megabyte
    const { status, body } = await tenants.call('mallory', 'inspect_variables', { limit: 100 });
    expect(status).toBe(200);
    expect(body.toString()).toContain('Variables: 19 of 24, from 0; continue with offset 19.');
    expect(body.length).toBeLessThan(600_000); // it was 13 MB
  });
});
