import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { epollNotes, epollWatches } from './epoll-notes.ts';

describe('the note about epoll watches', () => {
  it('names the setting, the commands that lower it, and the stronger level', () => {
    const [note] = epollNotes(5_490_643, { hasOwnUids: true });
    expect(note).toContain('fs.epoll.max_user_watches is 5490643.');
    expect(note).toContain('sudo sysctl -w fs.epoll.max_user_watches=100000 ');
    expect(note).toContain('echo fs.epoll.max_user_watches=100000 | sudo tee /etc/sysctl.d/60-hotcell.conf');
    expect(note).toContain('gvisor');
  });

  it('does not advise lowering it if sessions run as the uid of a person', () => {
    const [note] = epollNotes(5_490_643, { hasOwnUids: false });
    expect(note).toContain('gvisor');
    expect(note).not.toContain('sudo');
  });

  it.each([undefined, 100_000, 200_000])('is left out at %s', (watches) => {
    expect(epollNotes(watches, { hasOwnUids: true })).toEqual([]);
  });

  it.runIf(process.platform === 'linux')('reads the value of this host', () => {
    const said = execFileSync('cat', ['/proc/sys/fs/epoll/max_user_watches'], { encoding: 'utf8' });
    expect(epollWatches()).toBe(Number(said));
  });
});
