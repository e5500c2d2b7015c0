import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { laterBuilder, type OpenedBuilder } from '../builder/open-builder.ts';
import { baseOf } from '../prepare.ts';
import { createKnownBases } from '../store/known-bases.ts';
import type { Workshop } from '../workshop.ts';
import { npmPlan } from './npm-plan.ts';

const PYTHON = {
  python: '/usr/bin/python3',
  version: '3.12',
  abi: 'cp312',
  libc: 'glibc',
  machine: 'x86_64',
  packages: {},
};
const NODE = '{"version":"v22.0.0","modules":"127"}\n';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hotcell-test-npm-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Describes a builder whose image has a Node that prints `stdout`. */
async function described(stdout: string, exitCode = 0) {
  const builder = { ask: async () => JSON.stringify(PYTHON), run: async () => ({ exitCode, stdout, stderr: '' }) };
  const registries = { npm: async () => ({ registry: undefined, scopes: new Map() }) };
  const shop = { root, registries, bases: createKnownBases(root) } as unknown as Workshop;
  const like = { owner: 'ada', driver: 'docker' as const, image: 'theirs' };
  const request = { manager: 'npm' as const, wanted: [], upgrade: false };
  const plan = await npmPlan(shop, { like, identity: 'sha256:1', request }, {});
  await using later = laterBuilder(
    async () => ({ builder, [Symbol.asyncDispose]: async () => {} }) as unknown as OpenedBuilder,
  );
  return baseOf(shop, plan, later);
}

test('the Node of an image is described, and the description is kept', async () => {
  const base = await described(NODE);
  expect(base).toMatchObject({ python: '/usr/bin/python3', key: expect.any(String) });
  expect(await described('', 1)).toEqual(base);
});

test.each(['', 'hello', '{', '[]', 'null', '{"version":1,"modules":"127"}', `${NODE}${NODE}`])(
  'an image whose Node prints %j has no packages of npm installed',
  async (stdout) => {
    await expect(described(stdout)).rejects.toMatchObject({ code: 'install_failed' });
  },
);

test('an image without Node has no packages of npm installed', async () => {
  await expect(described('', 127)).rejects.toMatchObject({
    code: 'install_failed',
    message: expect.stringMatching(/has no Node/),
  });
});
