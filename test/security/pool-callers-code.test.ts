import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Owner } from '../../src/directory/directory.ts';
import { LABELS } from '../../src/drivers/docker/container-config.ts';
import { installationId } from '../../src/lib/installation.ts';
import { type HotcellServer, openServer } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { type CraftedImages, craftedImages, docker } from '../support/crafted-image.ts';
import { until } from '../support/host-processes.ts';
import { containersOf } from '../support/host-traces.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

/**
 * Code of a caller in containers that are made ahead: without a session, outside every quota, after `close`, and after
 * the caller's token was revoked.
 */
let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-ahead-')));
  chmodSync(folder, 0o777);
});
afterEach(() => rmSync(folder, { recursive: true }));

describe.each([TARGETS.docker, TARGETS.gvisor])('$name: a container that is made ahead', async (target) => {
  const skip = (await reasonToSkip(target)) !== undefined;
  const ran = () => readdirSync(folder).filter((name) => name.startsWith('ran-'));

  it.skipIf(skip)('does not run what a variable of the session names', async () => {
    await using hotcell = await openTarget(target, {
      ...{ mountRoots: [folder], poolSize: 1, preloads: ['antigravity'] },
    });
    // A name that each process chooses anew.
    const environment = { BROWSER: "sh -c 'mktemp /data/ran-XXXXXX' %s" };
    const session = await hotcell.open({
      mounts: [{ source: folder, target: '/data', readOnly: false }],
      environment,
    });
    await hotcell.settled();
    expect(ran()).toEqual([]);
    await session.command(['python3', '-c', 'import antigravity']);
    expect(ran()).toHaveLength(1); // with the variable, the import does run it
    await session.close();
  });

  it.skipIf(skip)('imports no module and reads no configuration of a mounted folder', async () => {
    const modules = ['numpy', 'matplotlib', 'json', 'sitecustomize', 'usercustomize', 'numexpr', 'bottleneck'];
    const trace = "open('/data/ran-' + __name__, 'w').close()\n";
    for (const name of modules) writeFileSync(join(folder, `${name}.py`), trace);
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, '__init__.py'), trace);
    await using hotcell = await openTarget(target, {
      ...{ mountRoots: [folder], poolSize: 1, preloads: ['json', 'numpy', 'matplotlib', 'data'] },
    });
    const mounts = ['/data', '/workspace'].map((place) => ({ source: folder, target: place, readOnly: false }));
    const session = await hotcell.open({ mounts });
    await hotcell.settled();
    expect(ran()).toEqual([]);
    await session.run('import sys; sys.path.insert(0, "/workspace"); import bottleneck');
    expect(ran()).toEqual(['ran-bottleneck']);
    await session.close();
  });
});

describe.skipIf((await reasonToSkip(TARGETS.docker)) !== undefined)('containers of an image of the caller', () => {
  const images: CraftedImages = craftedImages();
  const { home, remove } = makeHome();
  let server: HotcellServer;
  afterEach(() => server.close());
  afterAll(() => {
    images.remove();
    remove();
  });

  const MiB = 1_048_576;
  const quotas = { sessions: 3, memoryBytes: 768 * MiB, executions: 8, uploadBytes: MiB };
  const ada: Owner = { id: 'ada', quotas };
  const bob: Owner = { id: 'bob', quotas };
  const limits = { memoryBytes: 256 * MiB };
  const open = async (owner: Owner, image?: string) =>
    server.sessions.open(owner, { limits, ...(image === undefined ? {} : { image }) });
  const start = async () => {
    server = await openServer({
      ...{ ...TARGETS.docker.options, dataDir: home, poolSize: 1, preloads: [], logLevel: 'silent' },
      allowedImages: ['*'],
    });
  };
  const count = () => containersOf(home).length;

  it('are made for that caller alone, and count as its sessions', async () => {
    const image = images.build('ahead', ['LABEL a=b']);
    await start();
    const sessions = [await open(ada, image)];
    await server.hotcell.settled();
    expect(count()).toBe(2);
    // Another caller gets a new one, and the next session of the first gets the one that was made ahead.
    const ahead = containersOf(home);
    const others = await open(bob, image);
    await server.hotcell.settled();
    expect(containersOf(home)).toEqual(expect.arrayContaining(ahead));
    expect(others.owner).toBe(bob.id);
    await server.sessions.closeAll(bob);
    await server.hotcell.settled();
    expect(containersOf(home).sort()).toEqual(ahead.sort());
    // Three sessions of 256 MiB are the quota: what is made ahead never exceeds it, nor stands in the way.
    for (const _ of [2, 3]) {
      sessions.push(await open(ada, image));
      await server.hotcell.settled();
      expect(count()).toBeLessThanOrEqual(3);
    }
    expect(sessions).toHaveLength(3);
    await expect(open(ada, image)).rejects.toMatchObject({ code: 'too_much_memory' });
  });

  it('carry no label of the image, not even the container that is only looked into', async () => {
    const image = images.build('labels', ['LABEL scheduler.run="as root"']);
    await start();
    const since = Date.now() / 1000;
    await open(ada, image);
    const filters = ['type=container', 'event=create', `label=${LABELS.installation}=${installationId(home)}`];
    const created = docker(
      ...['events', '--since', String(since), '--until', String(Date.now() / 1000)],
      ...filters.flatMap((filter) => ['--filter', filter]),
      ...['--format', '{{.Actor.Attributes.name}} {{index .Actor.Attributes "scheduler.run"}}.'],
    ).split('\n');
    expect(created.length).toBeGreaterThan(1);
    expect(created.filter((line) => !line.endsWith(' .'))).toEqual([]);
  });

  it('give way to a session that the quota has no room for otherwise', async () => {
    const image = images.build('ahead', ['LABEL a=b']);
    await start();
    const { id } = await open(ada, image);
    await server.sessions.close(ada, id);
    await server.hotcell.settled();
    const ahead = containersOf(home);
    expect(ahead).toHaveLength(1);
    await server.sessions.open(ada, { limits: { memoryBytes: 768 * MiB } });
    await until(() => !containersOf(home).includes(ahead[0]!), 'the container that was made ahead is gone');
  });

  it('end when all sessions of the caller are closed because its token was revoked', async () => {
    const image = images.build('ahead', ['LABEL a=b']);
    await start();
    await open(ada, image);
    await server.hotcell.settled();
    expect(count()).toBe(2);
    await server.sessions.closeAll(ada);
    await server.hotcell.settled();
    expect(count()).toBe(0);
  });
});
