import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { anthropic } from './model/anthropic.ts';
import type { Dialect } from './model/dialect.ts';
import { gemini } from './model/gemini.ts';
import { openai } from './model/openai.ts';

/** How Hotcell is started, as a client's configuration names it. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** A client that people run in a terminal, driven without one. */
export interface CommandLineClient {
  /** The name of its program in `node_modules/.bin`. */
  readonly program: 'claude' | 'codex' | 'gemini';
  readonly dialect: Dialect;
  /** Its arguments, environment and files in a home of its own, given the port of the scripted model. */
  readonly setUp: (port: number, server: ServerCommand) => SetUp;
}

interface SetUp {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
}

const claude: CommandLineClient = {
  program: 'claude',
  dialect: anthropic,
  setUp: (port, server) => ({
    args: ['-p', 'go', '--strict-mcp-config', '--mcp-config', 'mcp.json', '--allowedTools', 'mcp__hotcell'],
    env: {
      ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
      ANTHROPIC_API_KEY: 'sk-ant-scripted',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // By default it offers the tools of MCP servers only to a model that searches for them.
      ENABLE_TOOL_SEARCH: 'false',
    },
    files: { 'mcp.json': JSON.stringify({ mcpServers: { hotcell: server } }) },
  }),
};

const codex: CommandLineClient = {
  program: 'codex',
  dialect: openai,
  setUp: (port, { command, args, env }) => ({
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'go'],
    env: { SCRIPTED_KEY: 'x' },
    files: {
      '.codex/config.toml': `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:${port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[mcp_servers.hotcell]
command = ${JSON.stringify(command)}
args = ${JSON.stringify(args)}
# Without this it does not wait for a server that starts slowly, as on a busy machine.
required = true
startup_timeout_sec = 60
[mcp_servers.hotcell.env]
${Object.entries(env)
  .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  .join('\n')}
`,
    },
  }),
};

const geminiCli: CommandLineClient = {
  program: 'gemini',
  dialect: gemini,
  setUp: (port, server) => ({
    args: ['-p', 'go', '-m', 'gemini-2.5-pro', '--yolo'],
    env: {
      GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`,
      GEMINI_API_KEY: 'x',
      // Without this, or a person who trusts the folder, its MCP servers are "Disabled".
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    },
    files: {
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        mcpServers: { hotcell: { ...server, trust: true } },
      }),
    },
  }),
};

export const COMMAND_LINE_CLIENTS: readonly CommandLineClient[] = [claude, codex, geminiCli];

export interface RunningClient {
  /** Resolves at its end, with all that it printed. */
  readonly ended: Promise<string>;
  /** As Ctrl-C does. */
  readonly interrupt: () => void;
}

/** Starts a client in a home of its own, which is removed at its end. `bin` holds the programs of the clients. */
export function startClient(
  client: CommandLineClient,
  bin: string,
  port: number,
  server: ServerCommand,
): RunningClient {
  const home = mkdtempSync(join(tmpdir(), `hotcell-${client.program}-`));
  const { args, env, files } = client.setUp(port, server);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const child = spawn(join(bin, client.program), args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, as a shell makes one: Ctrl-C reaches all of it.
    detached: true,
  });
  const printed: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => printed.push(text));
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(printed.join('')));
  }).finally(() => rmSync(home, { recursive: true, force: true }));
  return { ended, interrupt: () => process.kill(-(child.pid as number), 'SIGINT') };
}
