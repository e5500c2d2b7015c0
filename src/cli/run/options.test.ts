import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type MountRequest, mountPolicy, resolveMounts } from '../../sessions/mounts.ts';
import { durationMs, mountRequest, runOptions, sizeBytes } from './options.ts';

describe('the flags of hotcell run', () => {
  it.each([
    ['30', 30_000],
    ['30s', 30_000],
    ['2m', 120_000],
    ['500ms', 500],
    ['0.5', 500],
    ['1h', 3_600_000],
  ])('reads the time %s', (text, expected) => {
    expect(durationMs('--timeout', text)).toBe(expected);
  });

  it.each(['-1', '0', '', 'soon', '1d', '1e3', 'Infinity', '0.0001'])('refuses the time %j by name', (text) => {
    expect(() => durationMs('--timeout', text)).toThrow(/^--timeout: /);
  });

  it.each([
    ['512m', 512 * 1024 ** 2],
    ['2G', 2 * 1024 ** 3],
    ['1.5GiB', 1.5 * 1024 ** 3],
    ['70000000', 70_000_000],
  ])('reads the size %s', (text, expected) => {
    expect(sizeBytes('--memory', text)).toBe(expected);
  });

  it.each(['-1', '0', 'much', '1t'])('refuses the size %j by name', (text) => {
    expect(() => sizeBytes('--memory', text)).toThrow(/^--memory: /);
  });

  it('takes --network for the word of the operator, and checks its rules', () => {
    const network = ['api.example.com', '!x.example.com'];
    expect(runOptions({ network }).hotcell).toMatchObject({ network, sessionNetwork: network });
    expect(runOptions({}).hotcell).not.toHaveProperty('network');
    expect(() => runOptions({ network: ['http://a.example/'] })).toThrow(/^--network: .*has a slash/);
  });

  it('refuses less memory than a kernel needs, in the units that were typed', () => {
    expect(() => runOptions({ memory: '1m' })).toThrow('--memory: 1m is too little for a kernel');
  });

  it('mounts read-only unless told otherwise', () => {
    expect(mountRequest('/usr:/data')).toMatchObject({ source: '/usr', target: '/data', readOnly: true });
    expect(mountRequest('/usr:/data:ro')).toMatchObject({ source: '/usr', target: '/data', readOnly: true });
    expect(mountRequest('/usr:/data:rw')).toMatchObject({ source: '/usr', target: '/data', readOnly: false });
    expect(() => mountRequest('/usr:b:/data')).toThrow('/usr:b: there is no such folder');
    expect(mountRequest('src:/data').source).toBe(resolve('src'));
  });

  it.each(['', '/a', '/a:data', '/a:/data:rx', ':/data'])('refuses the mount %j', (text) => {
    expect(() => mountRequest(text)).toThrow(/^--mount: /);
  });

  it('allows a folder that is named on the command line', () => {
    expect(runOptions({ mount: ['/usr:/data'] }).hotcell.mountRoots).toEqual(['/usr']);
  });

  it('never falls back to a driver without images if an image is named', () => {
    expect(runOptions({ image: 'python:3.12' }).hotcell.minIsolation).toBe('docker');
    expect(runOptions({ image: 'python:3.12', minIsolation: 'gvisor' }).hotcell.minIsolation).toBe('gvisor');
    expect(() => runOptions({ image: 'python:3.12', isolation: 'process' })).toThrow(/^--image: /);
  });

  it('lists the drivers if an unknown one is requested', () => {
    expect(() => runOptions({ isolation: 'nonsense' })).toThrow(
      '--isolation: nonsense is not one of auto, process, docker, gvisor',
    );
    expect(() => runOptions({ minIsolation: 'auto' })).toThrow(/^--min-isolation: /);
  });

  it.each([{ session: 'analysis' }, { token: 't' }])(
    'refuses %j without a server, because it has no effect',
    (flags) => {
      expect(() => runOptions(flags)).toThrow(/^--(session|token) needs --server/);
      expect(() => runOptions({ ...flags, server: 'http://127.0.0.1:7878' })).not.toThrow();
    },
  );

  it('keeps no pool for a single run', () => {
    expect(runOptions({}).hotcell).toEqual({ poolSize: 0 });
  });
});

describe("mounts from a stranger's repository", () => {
  let home: string;
  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-mount-')));
    for (const name of ['.config', 'repository/inner', 'repository/.git'])
      mkdirSync(join(home, name), { recursive: true });
    vi.spyOn(process, 'cwd').mockReturnValue(join(home, 'repository'));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(home, { recursive: true, force: true });
  });

  it('are refused if a link is on the path', () => {
    symlinkSync(join(home, '.config'), join(home, 'repository/data'));
    symlinkSync('.git', join(home, 'repository/own'));
    for (const source of ['./data', 'data', 'data/sub', join(home, 'repository/data'), 'own']) {
      expect(() => runOptions({ mount: [`${source}:/data:rw`] }), source).toThrow(/is a symbolic link, which is not/);
    }
    expect(mountRequest(`${join(home, '.config')}:/data`).source).toBe(join(home, '.config'));
    expect(mountRequest('.:/data').source).toBe(join(home, 'repository'));
  });

  it('belong to the folder that was named, or are refused if a link has taken its place', async () => {
    const request = mountRequest('inner:/data');
    const held = (asked: MountRequest) => resolveMounts([asked], mountPolicy({ roots: [request.source], denied: [] }));
    const [folder] = (await held(request)).folders;
    expect(folder!.identity).toEqual(request.identity);
    await folder!.close();
    rmSync(join(home, 'repository/inner'), { recursive: true });
    symlinkSync(join(home, '.config'), join(home, 'repository/inner'));
    const { identity: _, ...byPath } = request;
    const [outside] = (await held(byPath)).folders;
    expect(outside!.path).toBe(join(home, '.config')); // the attack, where the path alone is compared
    await outside!.close();
    await expect(held(request)).rejects.toMatchObject({ code: 'mount_denied' });
  });
});
