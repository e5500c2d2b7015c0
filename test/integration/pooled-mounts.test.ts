import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type Hotcell, openHotcell } from '../../src/main.ts';
import type { Session } from '../../src/sessions/session.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { containersOf } from '../support/host-traces.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const { home, remove } = makeHome();
const roots = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-pooled-')));
let hotcell: Hotcell;

afterEach(async () => {
  await hotcell.close();
  expect(containersOf(home)).toEqual([]);
});
afterAll(() => {
  rmSync(roots, { recursive: true, force: true });
  remove();
});

const source = join(roots, 'data');
const read = async (session: Session) => (await session.run('open("/data/which.txt").read()')).value?.text;
const open = (readOnly = true) => hotcell.open({ mounts: [{ source, target: '/data', readOnly }] });

function makeFolder(path: string, content: string): void {
  mkdirSync(path);
  writeFileSync(join(path, 'which.txt'), content);
}

/** Opens one session, so that the pool makes the next ahead, and returns the containers that wait there. */
async function fillPool(): Promise<string[]> {
  const first = await open();
  expect(await read(first)).toBe("'one'");
  await hotcell.settled();
  await first.close();
  return containersOf(home);
}

async function runsIn(session: Session, container: string): Promise<boolean> {
  await session.run(`open("${session.uniqueId}", "w").close()`);
  return (
    spawnSync('docker', ['exec', container.replace('container ', ''), 'test', '-e', `/workspace/${session.uniqueId}`])
      .status === 0
  );
}

describe.skipIf((await reasonToSkip(TARGETS.docker)) !== undefined)('a session with mounts', () => {
  it('takes a container that was made ahead for the same mounts, and for no others', async () => {
    rmSync(source, { recursive: true, force: true });
    makeFolder(source, 'one');
    hotcell = await openHotcell({ dataDir: home, isolation: 'docker', preloads: [], mountRoots: [roots] });
    const waiting = await fillPool();
    expect(waiting).toHaveLength(1);
    const writing = await open(false);
    const next = await open();
    expect(await read(next)).toBe("'one'");
    expect(await Promise.all([writing, next].map((session) => runsIn(session, waiting[0]!)))).toEqual([false, true]);
    await Promise.all([writing.close(), next.close()]);
  });

  it('never gets the folder that was there before, under the same path', async () => {
    rmSync(source, { recursive: true, force: true });
    makeFolder(source, 'one');
    hotcell = await openHotcell({ dataDir: home, isolation: 'docker', preloads: [], mountRoots: [roots] });
    await fillPool();
    renameSync(source, `${source}.before`);
    makeFolder(source, 'two');
    const next = await open();
    expect(await read(next)).toBe("'two'");
    await next.close();
  });
});
