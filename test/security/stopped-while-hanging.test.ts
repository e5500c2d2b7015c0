import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildHotcell } from '../e2e/built-hotcell.ts';
import { startServer } from '../e2e/http-server.ts';
import { nextLine } from '../support/other-user.ts';

const canMount = process.getuid?.() === 0 && existsSync('/dev/fuse');
const program = join(import.meta.dirname, '../support/foreign_files.py');
/** How long the file system answers nothing; a server that waits for it takes as long. */
const SILENT_SECONDS = 600;

it.skipIf(!canMount)(
  'a server with a thread that waits for a file system which never answers ends on SIGTERM, and leaves nothing',
  async () => {
    const folder = mkdtempSync(join(homedir(), '.hotcell-hanging-'));
    const dead = join(folder, 'dead');
    mkdirSync(dead);
    const hotcell = await buildHotcell();
    writeFileSync(join(hotcell.home, 'config.json'), JSON.stringify({ mountRoots: [folder] }), { mode: 0o600 });
    const server = await startServer(hotcell);
    const mounted = spawn('python3', ['-I', program, dead, '0', String(SILENT_SECONDS)]);
    try {
      expect(await nextLine(mounted)).toBe('mounted');
      const client = await server.client('legacy');
      const mounts = [{ source: join(dead, 'x'), target: '/data' }];
      const reply = await client.callTool({ name: 'open_session', arguments: { mounts } });
      expect(JSON.stringify(reply.content)).toContain('its file system does not answer');
      const ended = once(server.child, 'close');
      server.child.kill('SIGTERM');
      // The kernel keeps the entry of the dead process until that file system answers.
      await expect.poll(() => stateOf(server.child.pid!), { timeout: 30_000 }).toBe('Z');
      mounted.stdin.end();
      expect(await ended).toEqual([null, 'SIGKILL']); // by itself, after its cleanup
      expect(hotcell.leftovers()).toEqual([]);
    } finally {
      mounted.stdin.end();
      if (mounted.exitCode === null) await once(mounted, 'exit');
      await server.stop();
      hotcell.remove();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  90_000,
);

/** The state of a process (proc_pid_stat(5)): `Z` if it is dead. */
function stateOf(pid: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.[0];
}
