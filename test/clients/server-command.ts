import { join } from 'node:path';
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
