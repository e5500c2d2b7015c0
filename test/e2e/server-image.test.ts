import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildOnce } from '../support/built-program.ts';
import { freePort } from '../support/free-port.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';
import { root } from './built-hotcell.ts';

const SOCKET = '/var/run/docker.sock';
const NAME = `hotcell-test-server-${process.pid}`;
const skipped = await reasonToSkip(TARGETS.docker);

/** Docker with these arguments. There may be no bridge here, nor anything to pull: the base is made of what `hotcell setup docker` stands on, and of this Node. */
function docker(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('docker', args, {
    encoding: 'utf8',
    env: { ...process.env, DOCKER_BUILDKIT: '0' },
  });
  return { status, stdout, stderr };
}

function mustDocker(...args: string[]): string {
  const { status, stdout, stderr } = docker(args);
  if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

describe.skipIf(skipped !== undefined)('the image of the server', () => {
  let folder: string;
  beforeAll(() => {
    buildOnce();
    folder = mkdtempSync(join(tmpdir(), 'hc-image-'));
    const [base, server] = [join(folder, 'base'), join(folder, 'server')];
    for (const made of [base, server]) mkdirSync(made);
    copyFileSync(realpathSync(process.execPath), join(base, 'node'));
    const stands = ['python:3.12-slim-bookworm', 'hotcell/base:bookworm'].find(
      (name) => docker(['image', 'inspect', name]).status === 0,
    );
    writeFileSync(join(base, 'Dockerfile'), `FROM ${stands}\nCOPY node /usr/local/bin/node\n`);
    mustDocker('build', '--network', 'none', '--tag', `${NAME}-base`, base);
    copyFileSync(join(root, 'images', 'server', 'Dockerfile'), join(server, 'Dockerfile'));
    const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--pack-destination', server], { cwd: root });
    expect(packed.status).toBe(0);
    mustDocker('build', '--network', 'none', '--build-arg', `BASE=${NAME}-base`, '--tag', NAME, server);
    mustDocker('volume', 'create', NAME);
  });
  afterAll(() => {
    docker(['rm', '--force', NAME]);
    docker(['volume', 'rm', '--force', NAME]);
    docker(['rmi', NAME, `${NAME}-base`]);
    rmSync(folder, { recursive: true, force: true });
  });

  const once = (...args: string[]) => [
    ...['run', '--rm', '--network', 'none', '--volume', `${NAME}:/var/lib/hotcell`, NAME],
    ...args,
  ];

  it('does not serve without a token, and runs as nobody in particular', () => {
    const { status, stderr } = docker(once());
    expect([status, stderr]).toEqual([64, expect.stringContaining('there is no token')]);
    expect(mustDocker('run', '--rm', '--network', 'none', '--entrypoint', 'id', NAME, '-u')).toBe('1000');
  });

  it('runs code in containers beside it, is healthy, and ends with nothing left', async ({ skip }) => {
    if (process.platform !== 'linux') skip('the network of the host is needed');
    const token = mustDocker(...once('token', 'create', 'test'));
    const port = await freePort();
    mustDocker(
      ...['run', '--detach', '--name', NAME, '--network', 'host', '--volume', `${NAME}:/var/lib/hotcell`],
      ...['--volume', `${SOCKET}:${SOCKET}`, '--group-add', String(statSync(SOCKET).gid)],
      ...['--env', `HOTCELL_PORT=${port}`, '--env', 'HOTCELL_ISOLATION=docker', '--env', 'HOTCELL_HOST=127.0.0.1'],
      ...['--env', 'HOTCELL_TOKENS=always', '--health-interval', '1s', NAME],
    );
    await expect
      .poll(() => mustDocker('inspect', '--format', '{{.State.Health.Status}}', NAME), { timeout: 30_000 })
      .toBe('healthy');
    const { status, stdout } = spawnSync(
      process.execPath,
      ['dist/cli.js', 'run', '-', '--server', `http://127.0.0.1:${port}`, '--token', token, '--session', 'kept'],
      { cwd: root, encoding: 'utf8', input: 'import os; print(6 * 7, os.listdir("/var/lib"))' },
    );
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^42 (?!.*hotcell)/)]);
    const installation = mustDocker('exec', NAME, 'cat', '/var/lib/hotcell/installation');
    const labels = () => mustDocker('ps', '--all', '--format', '{{.Labels}}');
    expect(labels()).toContain(installation);
    mustDocker('stop', NAME);
    expect(mustDocker('inspect', '--format', '{{.State.ExitCode}}', NAME)).toBe('0');
    expect(labels()).not.toContain(installation);
  });
});
