import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';
import { connectStdio, ERAS, leaveToModern } from './mcp-client.ts';

let hotcell: BuiltHotcell;
beforeAll(async () => {
  hotcell = await buildHotcell();
});
afterAll(() => hotcell.remove());
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

describe('what people install this for', () => {
  it.for(ERAS)('a CSV in, an answer and a chart out (%s era)', async (era, context) => {
    leaveToModern(era, context);
    await using mcp = await connectStdio(hotcell, era, { allPreloads: true });

    const loaded = await mcp.call('load_file', { source: join(root, 'examples/sales/sales.csv') });
    expect(loaded.data.files).toMatchObject([{ path: 'sales.csv' }]);

    const described = await mcp.call('run_code', {
      code: 'import pandas as pd\ndf = pd.read_csv("sales.csv")\ndf.describe()',
    });
    expect(described.data).toMatchObject({ outcome: 'ok', changed: { added: ['df'] } });
    expect(described.text).toMatch(/count\s+144/);

    const failed = await mcp.call('run_code', { code: 'by_region = df.groupby("region")["revenu"].sum()\nby_region' });
    expect(failed.data).toMatchObject({ outcome: 'raised', error: { name: 'KeyError' } });
    expect(failed.text).toMatch(/hint from inside the sandbox: .*revenue/);

    const fixed = await mcp.call('run_code', { code: 'by_region = df.groupby("region")["revenue"].sum()\nby_region' });
    expect(fixed.data).toMatchObject({ outcome: 'ok', variables: 'kept' });
    expect(fixed.data.value).toContain('region');

    const charted = await mcp.call('run_code', {
      code: 'ax = by_region.plot.bar(title="Revenue by region")\nax.figure.savefig("revenue.png")',
    });
    expect(charted.content.map(({ type }) => type)).toEqual(['text', 'image', 'resource_link']);
    const file = charted.data.files.find(({ path }: { path: string }) => path === 'revenue.png');

    const { contents } = await mcp.client.readResource({ uri: file.uri });
    const picture = Buffer.from((contents[0] as { blob: string }).blob, 'base64');
    expect(picture.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect(picture.length).toBe(file.size_bytes);
    expect((await mcp.call('read_file', { path: 'revenue.png' })).content.at(-1)).toMatchObject({ type: 'image' });

    const download = await fetch(file.url);
    expect(download.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await download.arrayBuffer()).equals(picture)).toBe(true);

    const { data } = await mcp.call('close_session', { session_id: fixed.data.session_id });
    expect(data.closed).toBe(true);
    expect((await mcp.call('list_sessions')).data.sessions).toEqual([]);
    expect((await fetch(file.url)).status).toBeGreaterThanOrEqual(400);
  });
});
