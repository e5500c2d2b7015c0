import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { firstBarrier, interpreterCandidates, isSupported, type PathLookup } from './interpreter.ts';

const machine: Record<string, ReturnType<PathLookup>> = {
  '/usr': { kind: 'directory', mode: 0o755 },
  '/usr/bin': { kind: 'directory', mode: 0o755 },
  '/usr/bin/python3': { kind: 'link', mode: 0o777, target: 'python3.11' },
  '/usr/bin/python3.11': { kind: 'file', mode: 0o755 },
  '/usr/bin/private': { kind: 'file', mode: 0o700 },
  '/usr/bin/pyenv3': { kind: 'link', mode: 0o777, target: '/root/.pyenv/bin/python3' },
  '/usr/bin/loop': { kind: 'link', mode: 0o777, target: 'loop' },
  '/bin': { kind: 'link', mode: 0o777, target: 'usr/bin' },
  '/root': { kind: 'directory', mode: 0o700 },
  '/root/.pyenv': { kind: 'directory', mode: 0o755 },
};
const look: PathLookup = (path) => machine[path];

describe('the path to an interpreter', () => {
  it.each([
    ['/usr/bin/python3', undefined],
    ['/bin/python3', undefined],
    ['/usr/bin/private', '/usr/bin/private'],
    ['/usr/bin/pyenv3', '/root'],
    ['/root/.pyenv/shims/python3', '/root'],
    ['/usr/bin/absent', '/usr/bin/absent'],
  ])('%s is barred at %s', (path, barrier) => {
    expect(firstBarrier(path, look)).toBe(barrier);
  });

  it('with a loop of links is barred', () => {
    expect(firstBarrier('/usr/bin/loop', look)).toBe('/usr/bin/loop');
  });
});

describe('candidates', () => {
  let folder: string;
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-python-')));
    mkdirSync(join(folder, 'shims'));
    writeFileSync(join(folder, 'python3'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('../python3', join(folder, 'shims', 'python3'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('start with the distribution’s own, whatever the search path is', () => {
    expect(interpreterCandidates(`${folder}/shims:relative:/usr/bin`).slice(0, 3)).toEqual([
      '/usr/bin/python3',
      '/usr/local/bin/python3',
      join(folder, 'shims', 'python3'),
    ]);
  });

  it('are none that other users can write to, though the folder of the search path is our own', () => {
    chmodSync(join(folder, 'python3'), 0o777);
    expect(interpreterCandidates(`${folder}/shims`).filter((path) => path.startsWith(folder))).toEqual([]);
  });

  it('are supported from 3.9 on', () => {
    expect(['2.7.18', '3.8.19', '3.9.0', '3.14.1', '4.0.0'].map(isSupported)).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
  });
});
