import { chmodSync, chownSync, lchownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { packageRoot } from '../lib/package-root.ts';
import { followedPlaces } from './denied-places.ts';
import { mountPolicy, resolveMounts } from './mounts.ts';
import { otherHomes, ownHomes, secretsOfHomes } from './secret-homes.ts';
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

describe('paths that are never mounted', () => {
  it("include secrets, system folders, Hotcell's data and the folders with servers' sockets", () => {
    const uid = process.getuid?.();
    const standard = uid ? [join(tmpdir(), `hotcell-${uid}`)] : [];
    expect(secretPlaces(places())).toEqual(
      expect.arrayContaining([join(homedir(), '.ssh'), '/proc', '/etc', dataDir, '/srv/run', ...standard]),
    );
  });

  it("include the engine's socket, wherever it is", () => {
    vi.stubEnv('DOCKER_HOST', 'unix:///srv/engine/docker.sock');
    expect(secretPlaces(places())).toContain('/srv/engine/docker.sock');
    vi.stubEnv('DOCKER_HOST', 'tcp://127.0.0.1:2375');
    expect(secretPlaces(places()).filter((path) => path.includes('2375'))).toEqual([]);
  });

  it('include the keys of all users for root, who can read them', () => {
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

it("the keys of this user include those in the account's home if HOME is another", () => {
  expect(ownHomes('/srv/another')).toEqual(['/srv/another', userInfo().homedir]);
  expect(secretsOfHomes([])).toEqual(expect.arrayContaining(ownHomes().map((home) => join(home, '.ssh'))));
});

it('a link on the search path to a program that set-up runs counts by its name, also of one Python version', () => {
  vi.stubEnv('PATH', dataDir);
  const names = ['python3.12', 'python', 'pip', 'pip3', 'uv', 'docker', 'apt-get', 'dnf', 'systemctl', 'chmod'];
  for (const name of names) symlinkSync(`/srv/project/${name}`, join(dataDir, name));
  expect(reliedPlaces(places())).toEqual(expect.arrayContaining(names.map((name) => join(dataDir, name))));
});

describe.skipIf(process.getuid?.() !== 0)("a link in the home of another user, to a third user's project", () => {
  const stranger = 61_842;
  beforeEach(() => {
    rmSync(dataDir, { recursive: true });
    dataDir = mkdtempSync(join(homedir(), '.hotcell-places-')); // not in /tmp, where all users can write
    chmodSync(dataDir, 0o755);
  });
  const made = (target: string, owner: number) => {
    const home = join(dataDir, 'home');
    mkdirSync(home);
    symlinkSync(target, join(home, '.aws'));
    for (const path of [home, join(home, '.aws')]) lchownSync(path, stranger, stranger);
    mkdirSync(target);
    chownSync(target, owner, owner);
    return { home, denied: secretsOfHomes([{ path: home, isPerson: true }]) };
  };
  const project = () => join(dataDir, 'project');
  const mount = (denied: readonly string[], source = project()) =>
    resolveMounts([{ source, target: '/p' }], mountPolicy({ roots: [dataDir], denied }));

  it('does not block mounts of that project', async () => {
    const { home, denied } = made(project(), 0);
    const { folders } = await mount(denied);
    for (const folder of folders) await folder.close();
    await expect(mount(denied, home)).rejects.toMatchObject({ code: 'mount_denied' });
  });

  it('does not block them if it was created after the server had started', async () => {
    const denied = secretsOfHomes([{ path: join(dataDir, 'home'), isPerson: true }]);
    const policy = mountPolicy({ roots: [dataDir], denied });
    made(project(), 0);
    const { folders } = await resolveMounts([{ source: project(), target: '/p' }], policy);
    for (const folder of folders) await folder.close();
  });

  it('blocks them if the project belongs to the same user', async () => {
    await expect(mount(made(project(), stranger).denied)).rejects.toMatchObject({ code: 'mount_denied' });
  });

  it.each([
    ['of somebody else', 61_843, 0o755],
    ['of root that others may write to', 0, 0o1777],
  ])('refuses none for a file of that user in a project %s', async (_, owner, mode) => {
    mkdirSync(project());
    chownSync(project(), owner, owner);
    chmodSync(project(), mode);
    const { denied } = made(join(project(), 'upload'), stranger);
    const { folders } = await mount(denied);
    for (const folder of folders) await folder.close();
  });

  it('is followed if the administrator named it', async () => {
    const { home } = made(project(), 0);
    await expect(mount(followedPlaces([join(home, '.aws')]))).rejects.toMatchObject({ code: 'mount_denied' });
  });
});

describe('paths that a server relies on', () => {
  it('include its own files, Node, its modules, the programs that it starts, its configuration and its log', () => {
    vi.stubEnv('HOTCELL_CONFIG', '/srv/settings/hotcell.json');
    expect(reliedPlaces(places())).toEqual(
      expect.arrayContaining([
        packageRoot(),
        join(packageRoot(), 'node_modules'),
        join(dirname(packageRoot()), 'node_modules'),
        join(homedir(), '.node_modules'),
        join(homedir(), '.node_libraries'),
        process.execPath,
        '/srv/settings/hotcell.json',
        '/srv/log/hotcell.log',
      ]),
    );
  });

  it('include the folders of the search path that programs are taken from, and none of a virtual environment', () => {
    vi.stubEnv('PATH', '/opt/hotcell-none/bin:/srv/app/.venv/bin:/usr/bin');
    const relied = reliedPlaces(places());
    expect(relied).toContain('/opt/hotcell-none/bin');
    expect(relied).not.toContain('/srv/app/.venv/bin');
  });

  it('include folders of the search path in the current project, where a call in another folder finds programs', () => {
    const tools = join(process.cwd(), 'tools');
    const active = join(process.cwd(), 'python');
    vi.stubEnv('PATH', [tools, join(process.cwd(), 'node_modules/.bin/.'), join(active, 'bin'), '/usr/bin'].join(':'));
    vi.stubEnv('VIRTUAL_ENV', active);
    const inProject = reliedPlaces(places()).filter((place) => place.startsWith(process.cwd()));
    expect(inProject).toContain(tools);
    expect(inProject.filter((place) => /\/(\.bin|python\/bin)/.test(place))).toEqual([]);
  });
});
