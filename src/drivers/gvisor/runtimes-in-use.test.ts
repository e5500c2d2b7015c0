import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runtimesInUse } from './runtimes-in-use.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-runtimes-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it.skipIf(process.platform !== 'linux')("are those of the engine's configuration, and that file", () => {
  const path = join(folder, 'daemon.json');
  const runtimes = {
    runsc: { path: '/srv/project/runsc' },
    kata: { runtimeType: 'io.kata' },
    none: null,
    odd: { path: 7 },
  };
  writeFileSync(path, JSON.stringify({ runtimes }));
  expect(runtimesInUse([path])).toEqual(expect.arrayContaining([path, '/srv/project/runsc']));
});

it.each(['', '[', 'null', '{ "runtimes": 7 }'])('are none of a configuration that says %j', (text) => {
  const path = join(folder, 'daemon.json');
  writeFileSync(path, text);
  expect(runtimesInUse([path]).filter((place) => place !== path)).toEqual(runtimesInUse([]));
});
