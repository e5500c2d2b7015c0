import { describe, expect, it } from 'vitest';
import { serveForTest, toolCall } from '../support/served-hotcell.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const skipped = await reasonToSkip(TARGETS.shared);

/** Leaves the sandbox next to no processor time for reading a file of eight megabytes. */
const SLOW = `open('f', 'w').write('ab ' * 2_700_000)
import os
for _ in range(16):
    if os.fork() == 0:
        while True: pass
`;

describe.skipIf(skipped !== undefined)('edits of files in sandboxes that are slow on purpose', () => {
  it("delay no other tenant's edit", async () => {
    const tokens: Record<string, string> = {};
    await using hotcell = await serveForTest({ tokens: 'always' }, async (store) => {
      for (const who of ['mallory', 'trudy', 'ada']) tokens[who] = (await store.create(who)).text;
    });
    const call = async (who: string, tool: string, args: object) => {
      const { body } = await hotcell.send('POST', '/mcp', { ...toolCall(tool, args), token: tokens[who]! });
      return body.toString();
    };
    for (const who of ['mallory', 'trudy']) {
      await call(who, 'open_session', { name: 'slow', limits: { cpus: 0.05 } });
      expect(await call(who, 'run_code', { code: SLOW, session_id: 'slow' })).not.toContain('"isError":true');
    }
    await call('ada', 'write_file', { path: 'x.txt', content: 'hello world' });
    let pending = 10;
    for (const who of ['mallory', 'trudy']) {
      for (let count = 0; count < 5; count += 1) {
        void call(who, 'edit_file', { path: 'f', old_text: 'zz', new_text: 'y', session_id: 'slow' })
          .catch(() => {})
          .finally(() => {
            pending -= 1;
          });
      }
    }
    await call('mallory', 'list_sessions', {}); // by now the edits have begun
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await call('ada', 'edit_file', { path: 'x.txt', old_text: 'o w', new_text: 'o w' })).toContain('replaced');
      expect(pending).toBe(10); // none of the others was waited for
    }
  });
});
