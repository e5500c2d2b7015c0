import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { TOOLS } from '../../src/mcp/tools/index.ts';
import { toolCall } from '../support/served-hotcell.ts';
import { strength } from '../support/strength.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { serveTwoTenants } from '../support/two-tenants.ts';

const skipped = await reasonToSkip(TARGETS.shared);
const MiB = 1_048_576;
const large = (text: string, chars: number) => text.repeat(Math.floor(chars / text.length));

/** Texts that are nearly there, by words and exactly; and a text that is there a million times, to replace all of it or only one. A plain run has one of each. */
const EDITS = [
  { path: 'ab.txt', old_text: `${large('a  b ', 3 * MiB)}z`, new_text: '' },
  { path: 'ab.txt', old_text: `${large('a b ', 3 * MiB)}z`, new_text: '' },
  { path: 'ab.txt', old_text: 'a', new_text: 'b', replace_all: true },
  { path: 'ab.txt', old_text: ' ', new_text: '' },
] as const;

/** A requirement whose marker has as many words as fit. */
function requirementOf(chars: number): string {
  return `a;${'in '.repeat(Math.floor((chars - 2) / 3))}`;
}

/** The largest arguments that each tool takes, or those that make it work hardest. A tool that is missing here fails the test. */
const CALLS: Record<string, readonly object[]> = {
  run_code: [{ code: `#${large('x', MiB - 1)}` }, { code: `print(${large('1,', 500_000)}1)` }],
  run_command: [{ command: `: ${large('x', 90_000)}` }],
  get_execution: [{ execution_id: 'x-1', log_offset: 0 }],
  write_file: [{ path: 'w', content: large('é\n', 3 * MiB) }],
  read_file: [
    { path: 'big.txt', lines: 100_000 },
    { path: 'big.txt', length: MiB },
  ],
  edit_file: strength<readonly object[]>({ plain: [EDITS[0], EDITS[2]], all: EDITS }),
  list_files: [{ recursive: true, limit: 1_000 }],
  load_file: [],
  inspect_variables: [{}, { expression: large('1+', 9_000) }],
  open_session: [{ environment: { A: 'x'.repeat(32_000) } }],
  set_network: [
    { network: Array.from({ length: 100 }, (_, index) => `${'x.'.repeat(100)}h${index}.example:${index + 1}`) },
  ],
  // The last of them is refused, after all others were parsed.
  install_packages: [{ packages: [...Array<string>(199).fill(requirementOf(490)), '-r'] }],
  list_sessions: [{}],
  reset_session: [{}],
  close_session: [{ session_id: 'none' }],
};

describe.skipIf(skipped !== undefined)('no call keeps the server from others for long', () => {
  it('with the largest arguments that a tool takes, and eight edits at once', async () => {
    expect(Object.keys(CALLS).sort()).toEqual(TOOLS.map(({ name }) => name).sort());
    await using tenants = await serveTwoTenants({ network: 'all' });
    const { hotcell, tokens } = tenants;
    await tenants.call('mallory', 'run_code', {
      code: `open('ab.txt', 'w').write('a b ' * ${2 * MiB})\nopen('big.txt', 'w').write('x\\n' * ${4 * MiB})`,
    });
    const stalls: Record<string, number> = {};
    for (const [tool, calls] of Object.entries(CALLS)) {
      for (const [number, args] of calls.entries()) {
        const given = { ...toolCall(tool, args), token: tokens.mallory };
        await hotcell.send('POST', '/mcp', given);
        const delay = monitorEventLoopDelay({ resolution: 5 });
        delay.enable();
        const count = tool === 'edit_file' ? 8 : 1;
        const all = Promise.all(Array.from({ length: count }, () => hotcell.send('POST', '/mcp', given)));
        await tenants.timed('list_sessions');
        await all;
        delay.disable();
        stalls[`${tool} ${number}`] = Math.round(delay.max / 1e6);
      }
    }
    // Both ends are in this process, and 40 MB are encoded, sent and parsed here. On a busy machine all of it takes longer.
    expect(Object.entries(stalls).filter(([, ms]) => ms > 1_000)).toEqual([]);
  });

  it('with twelve resources at once that are dear to encode, and twelve messages that are dear to parse', async () => {
    await using tenants = await serveTwoTenants();
    const { hotcell, tokens } = tenants;
    const made = await tenants.call('mallory', 'run_code', {
      code: `open('c.txt', 'w').write('\\x01' * ${6 * MiB})`,
    });
    const id = /s-[0-9a-f]{20}/.exec(made.body.toString())![0];
    const { headers = {} } = toolCall('');
    const send = (method: string, params: object) =>
      hotcell.send('POST', '/mcp', {
        headers,
        token: tokens.mallory,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
    const crowds = [
      () => send('resources/read', { uri: `hotcell://sessions/${id}/files/c.txt` }),
      () => send('ping', { a: large('\\', 2 * MiB - 100) }),
    ];
    for (const request of crowds) {
      let done = 0;
      const crowd = Array.from({ length: 12 }, () =>
        request().then((answer) => {
          done += 1;
          return answer;
        }),
      );
      await Promise.race(crowd);
      await tenants.timed('list_sessions');
      expect(done).toBeLessThan(10);
      for (const { status } of await Promise.all(crowd)) expect([200, 400]).toContain(status);
    }
  });
});
