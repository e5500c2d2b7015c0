import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { packageRoot } from '../lib/package-root.ts';
import { otherHomes, secretsOfHomes } from './secret-homes.ts';
import { reliedPlaces, secretPlaces } from './server-places.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'hotcell-places-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dataDir, { recursive: true, force: true });
});

const places = () => ({ dataDir, runRoot: '/srv/run', logFile: '/srv/log/hotcell.log' });

describe('what a server keeps from every sandbox', () => {
  it("holds secrets, the host's machinery, its own data and the folders that servers listen in", () => {
    const uid = process.getuid?.();
    const standard = uid ? [join(tmpdir(), `hotcell-${uid}`)] : [];
    expect(secretPlaces(places())).toEqual(
      expect.arrayContaining([join(homedir(), '.ssh'), '/proc', '/etc', dataDir, '/srv/run', ...standard]),
    );
  });

  it("holds the engine's socket, wherever that is", () => {
    vi.stubEnv('DOCKER_HOST', 'unix:///srv/engine/docker.sock');
    expect(secretPlaces(places())).toContain('/srv/engine/docker.sock');
    vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:2375');
    expect(secretPlaces(places()).filter((path) => path.includes('2375'))).toEqual([]);
  });

  it("holds everybody's keys for root, who can read them", () => {
    const passwd = [
      'root:x:0:0::/root:/bin/sh',
      'www-data:x:33:33::/var/www:/bin/sh',
      'bob:x:1001:1001::/srv/bob:/bin/sh',
    ];
    const homes = otherHomes(true, passwd.join('\n'));
    expect(secretsOfHomes(homes)).toEqual(expect.arrayContaining(['/srv/bob/.ssh', '/srv/bob/.config/gcloud']));
    expect(secretsOfHomes(homes)).not.toContain('/var/www/.ssh');
    expect(otherHomes(false, passwd.join('\n'))).toEqual([]);
  });
});

describe('what a server relies on', () => {
  it('holds its own files, Node, its modules, the programs that it starts, its configuration and its log', () => {
    vi.stubEnv('HOTCELL_CONFIG', '/srv/settings/hotcell.json');
    expect(reliedPlaces(places())).toEqual(
      expect.arrayContaining([
        packageRoot(),
        join(packageRoot(), 'node_modules'),
        join(dirname(packageRoot()), 'node_modules'),
        process.execPath,
        '/srv/settings/hotcell.json',
        '/srv/log/hotcell.log',
      ]),
    );
  });
});
