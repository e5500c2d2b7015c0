import { execFile } from 'node:child_process';
import { readdir, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { standardImageTag } from '../../src/drivers/docker/image.ts';
import type { HotcellError } from '../../src/errors/hotcell-error.ts';
import type { Hotcell } from '../../src/main.ts';
import { craftedImages } from '../support/crafted-image.ts';
import { type ExchangedFolder, exchangeFolder } from '../support/exchanged-folder.ts';
import { reasonToLeaveTo, strength } from '../support/strength.ts';
import { openTarget, reasonToSkip, TARGETS, type Target } from '../support/targets.ts';

/**
 * A session that can write to a folder exchanges what lies in it for a link to anywhere, while another session mounts that. Here a program of the host stands
 * for the first, so that the registry, which refuses the second one, does not hide whether the mount itself holds.
 */
const run = promisify(execFile);
const AT_ONCE = 4;
/** Openings of one server. A jail that has the right folder has it for all later sessions of its owner, so each opening has another owner. */
const ROUND = 20;
/** Containers take up to a second each. In a plain run a race that a driver loses is lost by the first few dozen openings too. */
const openings = ({ slow }: Target) => strength({ plain: slow === true ? 16 : 40, all: 200 });
/** On some machines nearly all are refused: it goes on until one was not. */
const MOST_OPENINGS = 400;
const ATTEMPTS_WITHOUT = 200;
/** Refused by the check itself: such an opening has not come to the driver, and is tried again. */
const EARLY = /not below an allowed folder|no longer the folder that was allowed/;

let folder: ExchangedFolder;

beforeAll(async () => {
  folder = await exchangeFolder();
});

afterAll(async () => {
  await folder?.stop();
});

/** A race that is lost once in hundreds is lost: no second turn (`scripts/turn-alone.mjs` gives none, either). */
const ONCE = { retry: 0 };

describe('a folder that is bound by the path that was checked', () => {
  it('is one outside before long, with bubblewrap', async () => {
    const bwrap = (source: string) =>
      run('bwrap', ['--ro-bind', '/', '/', '--tmpfs', '/tmp', '--bind', source, '/tmp/data', 'ls', '/tmp/data']);
    expect(await reached(bwrap)).toBe('secret');
  });

  describe.each([
    { target: TARGETS.docker, runtime: 'runc' },
    { target: TARGETS.gvisor, runtime: 'runsc' },
  ])('is one outside before long', async ({ target, runtime }) => {
    const reason = await reasonToLeaveTo(TARGETS.docker, target);
    it.skipIf(reason !== undefined)(`with ${target.name}${reason === undefined ? '' : ` (${reason})`}`, async () => {
      const options = ['--rm', '--runtime', runtime, '--network', 'none', '--entrypoint', 'ls'];
      const docker = (source: string) => {
        const mount = `type=bind,source=${source},target=/data`;
        return run('docker', ['run', ...options, '--mount', mount, standardImageTag(), '/data']);
      };
      expect(await reached(docker)).toBe('secret');
    });
  });
});

const targets = [TARGETS.shared, TARGETS.single, TARGETS.docker, TARGETS.gvisor];

describe.each(targets)('$name: while a folder is exchanged for a link to one outside', ONCE, async (target: Target) => {
  const reason =
    target === TARGETS.single || target === TARGETS.shared
      ? await reasonToLeaveTo(TARGETS.shared, target)
      : await reasonToLeaveTo(TARGETS.docker, target);
  it.skipIf(reason !== undefined)(
    `each session that mounts it sees the folder that was allowed, or is refused${reason === undefined ? '' : ` (${reason})`}`,
    async () => {
      const seen: Record<string, number> = {};
      const isEnough = (done: number) => done >= (seen.allowed === undefined ? MOST_OPENINGS : openings(target));
      for (let done = 0; !isEnough(done); done += ROUND) {
        await using hotcell = await openTarget(target, { mountRoots: [folder.root] });
        const owners = Array.from({ length: ROUND }, (_, index) => `owner-${index}`);
        const opener = async () => {
          for (let owner = owners.pop(); owner !== undefined; owner = owners.pop()) {
            const what = await opened(hotcell, owner);
            seen[what] = (seen[what] ?? 0) + 1;
            if (EARLY.test(what)) owners.push(owner);
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, opener));
      }
      console.info(`${target.name}: ${JSON.stringify(seen)}`);
      const odd = Object.keys(seen).filter((what) => what !== 'allowed' && !what.startsWith('mount_denied'));
      expect(odd, JSON.stringify(odd)).toEqual([]);
      expect(seen.allowed).toBeGreaterThan(0);
      expect(await readdir(folder.secret)).toEqual(['secret']);
    },
  );
});

// The guest of a hostile image compares nothing.
describe('docker: while a folder is exchanged for a link to one outside', ONCE, async () => {
  it.skipIf((await reasonToSkip(TARGETS.docker)) !== undefined)(
    'a hostile image, too, sees the folder that was allowed, or none',
    async () => {
      const images = craftedImages();
      try {
        const python = '/opt/hotcell/python/bin/python3';
        const image = images.build('looks', [`COPY looks ${python}`], {
          looks: '#!/bin/sh\necho found $(ls /data | grep -v trace) >&2\nexit 3\n',
        });
        await using hotcell = await openTarget(TARGETS.docker, { mountRoots: [folder.root] });
        const seen: Record<string, number> = {};
        let done = 0;
        const isEnough = () => done >= (seen['found allowed'] === undefined ? MOST_OPENINGS : openings(TARGETS.docker));
        const opener = async () => {
          while (!isEnough()) {
            const what = await opened(hotcell, `owner-${done}`, image);
            const found = /found \w*|^mount_denied/.exec(what)?.[0] ?? what;
            seen[found] = (seen[found] ?? 0) + 1;
            if (!EARLY.test(what)) done += 1;
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, opener));
        console.info(`docker, hostile image: ${JSON.stringify(seen)}`);
        expect(Object.keys(seen).filter((what) => !['found allowed', 'mount_denied'].includes(what))).toEqual([]);
        expect(seen['found allowed']).toBeGreaterThan(0);
      } finally {
        images.remove();
      }
    },
  );
});

/** What a session finds in the folder, which it writes to as well; or what its opening was refused with. */
async function opened(hotcell: Hotcell, owner: string, image?: string): Promise<string> {
  try {
    await untilThere();
    const mounts = [{ source: folder.source, target: '/data', readOnly: false }];
    await using session = await hotcell.open({ owner, mounts, ...(image === undefined ? {} : { image }) });
    const result = await session.run(`import os
found = sorted(name for name in os.listdir("/data") if not name.startswith("trace"))
open(f"/data/trace-{os.urandom(8).hex()}", "w").close()
print(*found)`);
    return result.outcome.kind === 'ok' ? result.stdout.trim() : result.outcome.kind;
  } catch (error) {
    const { code, message } = error as HotcellError;
    return `${code}: ${message}`;
  }
}

/** Checks the path, and has it bound right after that: the first name that is found which is not the allowed one. */
async function reached(bind: (source: string) => Promise<{ stdout: string }>): Promise<string | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS_WITHOUT; attempt += 1) {
    await untilThere();
    const { stdout } = await bind(folder.source);
    if (!stdout.split('\n').includes('allowed')) return stdout.trim();
  }
  return undefined;
}

async function untilThere(): Promise<void> {
  while ((await realpath(folder.source)) !== folder.source);
}
