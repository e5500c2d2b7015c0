import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell } from '../e2e/built-hotcell.ts';
import { connectSandbox } from '../e2e/code-sandbox-client.ts';
import { connectStdio } from '../e2e/mcp-client.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** The SDK's client ends the connection, and with it the server, over a message of more than 10 MiB. */
describe('a program cannot end the connection of whoever looks at what it made', () => {
  it.each([
    ['control characters, each six bytes in JSON', String.raw`b"\x01"`],
    ['bytes that are no text, each three bytes where they are shown', String.raw`b"\xff"`],
  ])('by a file and an output of %s', async (_what, piece) => {
    await using mcp = await connectStdio(hotcell, 'modern', { env: { HOTCELL_PRELOADS: 'json' } });
    const code = `import sys\nopen("made.txt", "wb").write(${piece} * 4_000_000)\nsys.stdout.buffer.write(${piece} * 4_000_000)\nNone`;
    const { data } = await mcp.call('run_code', { code });
    const file = await mcp.client.readResource({ uri: data.files[0].uri });
    const [content] = file.contents as { text?: string; blob?: string }[];
    const made = content?.blob === undefined ? Buffer.from(content?.text ?? '') : Buffer.from(content.blob, 'base64');
    expect(made.length).toBe(4_000_000);
    const log = await mcp.client.readResource({ uri: data.omitted.log_uri });
    const rest = { next_offset: expect.any(Number), size_bytes: 4_000_000 };
    expect(log.contents[0]).toMatchObject({ _meta: { 'dev.hotcell/result': rest } });
    // Nothing of Hotcell's is in the text, where a program could have written it.
    expect((log.contents[0] as { text: string }).text).toMatch(/^[\x01\ufffd]+$/);
    expect((await mcp.call('run_code', { code: '1 + 1' })).data.value).toBe('2');
  });

  it('by a file that is as large as the profile code-sandbox gives back', async () => {
    await using sandbox = await connectSandbox(hotcell, { env: { SANDBOX_MEMORY_LIMIT: '1g' } });
    const { session_id } = await sandbox.call('run_python', {
      code: `import os
open("/mnt/data/small.bin", "wb").write(os.urandom(3_500_000))
open("/mnt/data/large.bin", "wb").write(os.urandom(9_000_000))`,
    });
    const read = (name: string) => ({ session_id, path: `/mnt/data/${name}` });
    expect(await sandbox.call('read_artifact', read('small.bin'))).toMatchObject({ size_bytes: 3_500_000 });
    expect(await sandbox.fail('read_artifact', read('large.bin'))).toMatchObject({
      error: 'artifact_too_large',
      size_bytes: 9_000_000,
      download_url: expect.stringContaining('/large.bin?'),
    });
    expect(await sandbox.call('run_python', { code: 'print(1)', session_id })).toMatchObject({ stdout: '1\n' });
  });
});
