import { shellQuoted } from '../../lib/shell-quoted.ts';
import { CLIENTS } from './clients.ts';
import type { Machine } from './machine.ts';
import { isTable } from './server-entry.ts';
import { diskFiles } from './write-change.ts';

/**
 * Lines about other entries named hotcell that the client knows. Claude Code keeps those of `claude mcp add` by
 * project, and reports "Conflicting scopes" if they differ from the user's.
 */
export function conflicts(client: string, machine: Machine): string[] {
  if (client !== 'claude-code') return [];
  return projectsWithEntry(diskFiles.text(CLIENTS[client].places.user!(machine)) ?? '').map(
    (folder) =>
      `Claude Code has another hotcell for ${folder} (claude mcp add), which conflicts. Remove it: cd ${shellQuoted(folder)} && claude mcp remove hotcell -s local`,
  );
}

/** The folders for which `~/.claude.json` has an entry of its own. */
export function projectsWithEntry(text: string): string[] {
  try {
    const { projects } = JSON.parse(text) as { projects?: unknown };
    return Object.entries(isTable(projects) ? projects : {}).flatMap(([folder, project]) => {
      const servers = isTable(project) ? project.mcpServers : undefined;
      return isTable(servers) && servers.hotcell !== undefined ? [folder] : [];
    });
  } catch {
    return [];
  }
}
