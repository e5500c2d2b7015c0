import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
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

  it('refuses less memory than a kernel needs, in the units that were typed', () => {
    expect(() => runOptions({ memory: '1m' })).toThrow('--memory: 1m is too little for a kernel');
  });

  it('mounts read-only unless told otherwise', () => {
    expect(mountRequest('/a:/data')).toEqual({ source: '/a', target: '/data', readOnly: true });
    expect(mountRequest('/a:/data:ro')).toEqual({ source: '/a', target: '/data', readOnly: true });
    expect(mountRequest('/a:/data:rw')).toEqual({ source: '/a', target: '/data', readOnly: false });
    expect(mountRequest('/a:b:/data')).toEqual({ source: '/a:b', target: '/data', readOnly: true });
    expect(mountRequest('data:/data').source).toBe(resolve('data'));
  });

  it.each(['', '/a', '/a:data', '/a:/data:rx', ':/data'])('refuses the mount %j', (text) => {
    expect(() => mountRequest(text)).toThrow(/^--mount: /);
  });

  it('takes a folder that was named on the command line for an allowed root', () => {
    expect(runOptions({ mount: ['/a:/data'] }).hotcell.mountRoots).toEqual(['/a']);
  });

  it('never lets an image end in a jail that has none', () => {
    expect(runOptions({ image: 'python:3.12' }).hotcell.minIsolation).toBe('docker');
    expect(runOptions({ image: 'python:3.12', minIsolation: 'gvisor' }).hotcell.minIsolation).toBe('gvisor');
    expect(() => runOptions({ image: 'python:3.12', isolation: 'process' })).toThrow(/^--image: /);
  });

  it('names the drivers there are when it is asked for another', () => {
    expect(() => runOptions({ isolation: 'nonsense' })).toThrow(
      '--isolation: nonsense is not one of auto, process, docker, gvisor',
    );
    expect(() => runOptions({ minIsolation: 'auto' })).toThrow(/^--min-isolation: /);
  });

  it.each([{ session: 'analysis' }, { token: 't' }])(
    'refuses %j without a server, where it would do nothing',
    (flags) => {
      expect(() => runOptions(flags)).toThrow(/^--(session|token) needs --server/);
      expect(() => runOptions({ ...flags, server: 'http://127.0.0.1:7878' })).not.toThrow();
    },
  );

  it('keeps no pool for a single run', () => {
    expect(runOptions({}).hotcell).toEqual({ poolSize: 0 });
  });
});

it("mounts no folder that a stranger's repository has made a link out of it", () => {
  const home = mkdtempSync(join(tmpdir(), 'hotcell-mount-'));
  try {
    for (const name of ['.config', 'repository/inner']) mkdirSync(join(home, name), { recursive: true });
    symlinkSync(join(home, '.config'), join(home, 'repository/data'));
    symlinkSync('inner', join(home, 'repository/own'));
    vi.spyOn(process, 'cwd').mockReturnValue(join(home, 'repository'));
    for (const source of ['./data', 'data', 'data/sub', join(home, 'repository/data')]) {
      expect(() => runOptions({ mount: [`${source}:/data:rw`] }), source).toThrow(/is a symbolic link that leads out/);
    }
    const { source } = mountRequest('own:/data');
    expect(source).toBe(join(realpathSync(home), 'repository/inner'));
    expect(mountRequest(`${join(home, '.config')}:/data`).source).toBe(join(home, '.config'));
  } finally {
    vi.restoreAllMocks();
    rmSync(home, { recursive: true, force: true });
  }
});
