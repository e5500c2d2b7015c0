import { joinOn, type Machine, namedFolder, settingsFolder } from './machine.ts';
import type { ServerEntry } from './server-entry.ts';

export const CLIENT_NAMES = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex', 'gemini'] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];
export type Scope = 'user' | 'project';

/** `json`: without comments, as the client itself reads it. `jsonc`: with comments and trailing commas. */
export type ConfigFormat = 'json' | 'jsonc' | 'toml';

/** One client: the path of its configuration, and the form of a server in it. */
export interface Client {
  readonly title: string;
  readonly format: ConfigFormat;
  /** Key of the table of servers in the file. */
  readonly key: string;
  /** Members of an entry that this client needs besides command, arguments and environment. */
  readonly extra: Readonly<Record<string, string>>;
  readonly places: Readonly<Partial<Record<Scope, (machine: Machine) => string>>>;
  /** File with instructions for the model, if Hotcell adds to it. */
  readonly rules?: Readonly<Record<Scope, (machine: Machine) => string>>;
  /** The step by which the user makes the client notice the change. */
  readonly afterwards: string;
}

export const CLIENTS: Readonly<Record<ClientName, Client>> = {
  'claude-code': {
    title: 'Claude Code',
    format: 'json',
    key: 'mcpServers',
    extra: { type: 'stdio' },
    places: {
      user: (machine) => joinOn(machine, namedFolder(machine, 'CLAUDE_CONFIG_DIR') ?? machine.home, '.claude.json'),
      project: (machine) => joinOn(machine, machine.folder, '.mcp.json'),
    },
    rules: {
      user: (machine) =>
        joinOn(
          machine,
          namedFolder(machine, 'CLAUDE_CONFIG_DIR') ?? joinOn(machine, machine.home, '.claude'),
          'CLAUDE.md',
        ),
      project: (machine) => joinOn(machine, machine.folder, 'CLAUDE.md'),
    },
    afterwards: 'Restart Claude Code; /mcp lists hotcell.',
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    format: 'json',
    key: 'mcpServers',
    extra: {},
    places: { user: (machine) => joinOn(machine, settingsFolder(machine), 'Claude', 'claude_desktop_config.json') },
    afterwards: 'Restart Claude Desktop.',
  },
  cursor: {
    title: 'Cursor',
    format: 'jsonc',
    key: 'mcpServers',
    extra: { type: 'stdio' },
    places: {
      user: (machine) => joinOn(machine, machine.home, '.cursor', 'mcp.json'),
      project: (machine) => joinOn(machine, machine.folder, '.cursor', 'mcp.json'),
    },
    afterwards: 'Enable hotcell in the settings of Cursor, under MCP.',
  },
  vscode: {
    title: 'VS Code',
    format: 'jsonc',
    key: 'servers',
    extra: { type: 'stdio' },
    places: {
      user: (machine) => joinOn(machine, settingsFolder(machine), 'Code', 'User', 'mcp.json'),
      project: (machine) => joinOn(machine, machine.folder, '.vscode', 'mcp.json'),
    },
    afterwards: 'VS Code reloads its configuration; "MCP: List Servers" shows hotcell.',
  },
  codex: {
    title: 'Codex',
    format: 'toml',
    key: 'mcp_servers',
    extra: {},
    places: {
      user: (machine) =>
        joinOn(machine, namedFolder(machine, 'CODEX_HOME') ?? joinOn(machine, machine.home, '.codex'), 'config.toml'),
      project: (machine) => joinOn(machine, machine.folder, '.codex', 'config.toml'),
    },
    afterwards: 'Restart Codex; /mcp lists hotcell.',
  },
  gemini: {
    title: 'Gemini CLI',
    format: 'jsonc',
    key: 'mcpServers',
    extra: {},
    places: {
      user: (machine) => joinOn(machine, machine.home, '.gemini', 'settings.json'),
      project: (machine) => joinOn(machine, machine.folder, '.gemini', 'settings.json'),
    },
    afterwards:
      'Restart Gemini CLI; /mcp lists hotcell. In a folder that you have not trusted, Gemini CLI disables it: trust the folder with /permissions.',
  },
};

/** The members of the entry in their usual order. */
export function entryFor(client: Client, { command, args, env }: ServerEntry): Record<string, unknown> {
  return { ...client.extra, command, args, ...(Object.keys(env).length === 0 ? {} : { env }) };
}
