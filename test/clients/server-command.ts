import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type BuiltHotcell, root } from '../e2e/built-hotcell.ts';
import type { ServerCommand } from './command-line-clients.ts';

/** The built Hotcell over stdio, in a data folder of its own. */
export function serverCommand({ home }: BuiltHotcell): ServerCommand {
  return {
    command: process.execPath,
    args: [join(root, 'dist/cli.js'), 'mcp'],
    env: { HOTCELL_HOME: home, HOTCELL_ISOLATION: 'process' },
  };
}

/** Removes the data folder when the last server in it has ended: one whose client has left still writes its audit log. */
export async function removeWhenEnded({ home, remove }: BuiltHotcell): Promise<void> {
  const hasEnded = () => processesWith(`HOTCELL_HOME=${home}`).length === 0;
  await vi.waitUntil(hasEnded, { timeout: 30_000, interval: 100 });
  remove();
}

function processesWith(variable: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(variable);
    } catch {
      return false; // it has ended
    }
  });
}
