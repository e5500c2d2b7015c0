import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './dependencies.mjs';
import { withExtraCertificates } from './extra-certificates.mjs';
import { capture } from './run.mjs';

const folder = join(root, '.hotcell', 'clients');

const npmPackages = [
  ...['@anthropic-ai/claude-code@2.1.325', '@openai/codex@0.166.0', '@google/gemini-cli@0.61.0'],
  ...['@ai-sdk/mcp@2.0.96', '@modelcontextprotocol/sdk@1.32.2'],
];

/** Two environments: the frameworks still need the first major version of `mcp`. */
const pythonPackages = {
  mcp: ['mcp==2.3.0', 'fastmcp==4.1.2'],
  frameworks: ['langchain-mcp-adapters==0.3.2', 'openai-agents==0.24.0', 'mcp==1.30.0'],
};

/**
 * Installs the MCP clients that `npm run test:clients` drives, in a folder of the repository. Rejects if one cannot be installed.
 * They are not among the dependencies, because they take a gigabyte and only these tests need them.
 */
export async function ensureClients() {
  const marker = join(folder, '.ready');
  const wanted = JSON.stringify([npmPackages, pythonPackages]);
  if (!existsSync(marker) || readFileSync(marker, 'utf8') !== wanted) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true}');
    await Promise.all([
      mustRun('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, ...npmPackages]),
      ...Object.entries(pythonPackages).map(([name, packages]) => makeEnvironment(join(folder, name), packages)),
    ]);
    writeFileSync(marker, wanted);
  }
  const pythonOf = (name) => join(folder, name, 'bin/python');
  return {
    folder,
    bin: join(folder, 'node_modules/.bin'),
    python: pythonOf('mcp'),
    frameworks: pythonOf('frameworks'),
  };
}

async function makeEnvironment(place, packages) {
  await mustRun('/usr/bin/env', ['python3', '-m', 'venv', place]);
  await mustRun(join(place, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', ...packages]);
}

async function mustRun(program, args) {
  const { exitCode, output } = await capture(program, args, { env: withExtraCertificates(process.env) });
  if (exitCode !== 0) throw new Error(output.trim().split('\n').slice(-3).join('\n'));
}
