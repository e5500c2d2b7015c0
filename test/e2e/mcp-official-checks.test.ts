import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureMcpTools, type McpTools } from '../../scripts/mcp-tools.mjs';
import { capture } from '../../scripts/run.mjs';
import { serveWithFixtures } from '../mcp-conformance/server.ts';
import { buildHotcell } from './built-hotcell.ts';

let tools: McpTools | undefined;
let reason = '';
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hc-official-'));
  tools = await ensureMcpTools().catch((error: Error) => {
    reason = `the official checks cannot be installed: ${error.message}`;
    if (process.env.HOTCELL_TEST_REQUIRE === 'all') throw new Error(reason);
    return undefined;
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach((context) => {
  if (tools === undefined) context.skip(reason);
});

describe('the official conformance suite', () => {
  it.each([
    ['2025-11-25', 30],
    ['2026-07-28', 37],
  ])('finds everything that %s requires', async (revision, required) => {
    await using server = await serveWithFixtures();
    const { exitCode, output } = await capture(tools!.node, [
      ...[tools!.conformance, 'server', '--url', server.url, '--requirements', revision, '-o', folder],
    ]);
    const scored = scoredScenarios(output);
    expect(scored.filter(({ failed }) => failed > 0)).toEqual([]);
    expect({ exitCode, scored: scored.length }).toEqual({ exitCode: 0, scored: required });
  });
});

describe('the inspector', () => {
  it('has nothing to say against the tools, however strict', async () => {
    const hotcell = await buildHotcell();
    try {
      const server = [process.execPath, join(process.cwd(), 'dist/cli.js'), 'mcp'];
      const { exitCode, output } = await capture(
        tools!.node,
        [tools!.inspector, '--cli', '--strict', '--method', 'tools/list', '--', ...server],
        { env: { ...process.env, HOTCELL_HOME: hotcell.home, MCP_CATALOG_PATH: join(folder, 'catalog.json') } },
      );
      // A finding would stand beside the list, which is all there is.
      expect({ exitCode, tools: JSON.parse(output).tools.length }).toEqual({ exitCode: 0, tools: 14 });
    } finally {
      hotcell.remove();
    }
  });
});

/** Those that count for the revision; what came later, extensions and drafts are run too and listed apart. */
function scoredScenarios(output: string): { name: string; failed: number }[] {
  const apart = new Set([...output.matchAll(/^ {2}[✓✗] (\S+) \(.+\)$/gm)].map(([, name]) => name));
  return [...output.matchAll(/^[✓✗] (\S+): \d+ passed, (\d+) failed/gm)]
    .map(([, name, failed]) => ({ name: name!, failed: Number(failed) }))
    .filter(({ name }) => !apart.has(name));
}
