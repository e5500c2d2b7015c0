import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { imageOf } from './builder/open-builder.ts';
import { type LayerPlan, prepareLayer } from './prepare.ts';
import { createKnownBases } from './store/known-bases.ts';
import { createLayerStore } from './store/layer-store.ts';
import { createLockStore } from './store/lock-store.ts';
import type { Workshop } from './workshop.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'hotcell-test-prepare-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function workshop(): Workshop {
  return {
    root,
    layers: createLayerStore({ root, serverId: 'server' }),
    locks: createLockStore({ root }),
    bases: createKnownBases(root),
    layerLimits: { bytes: 1_000_000, entries: 100 },
    room: async () => 1_000_000,
  } as Partial<Workshop> as Workshop;
}

function entry(head: object): Buffer {
  const text = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(text.length);
  return Buffer.concat([length, text]);
}

/** A plan whose builders all say the same of themselves, and make what they like. */
function plan(image: string | undefined, steps: string[]): LayerPlan<string, string> {
  return {
    ...{ manager: 'pip', owner: 'ada', identity: image, image: imageOf({ image }, image), upgrade: false },
    open: async () => ({ [Symbol.asyncDispose]: async () => {} }) as never,
    equip: async () => ({}),
    describe: async () => 'Python 3.12',
    parseBase: (text) => text,
    asked: (base) => [base, 'requests'],
    parseLock: (json) => JSON.parse(json) as string,
    resolve: async () => {
      steps.push('resolve');
      return 'requests 2.0';
    },
    lacking: (_, lock) => ({ lock, packages: [{ name: 'requests', version: '2.0' }], present: [], superseded: [] }),
    content: (base, lock) => [base, lock],
    build: async () => {
      steps.push('build');
      return (async function* () {
        yield entry({ kind: 'end' });
      })();
    },
  };
}

test('sandboxes with the same files share locks and layers; those of an image that a caller named share with no other', async () => {
  const shop = workshop();
  const made = async (image: string | undefined) => {
    const steps: string[] = [];
    const { layers } = await prepareLayer(shop, plan(image, steps), {});
    return { steps, layers };
  };
  const hostile = await made('sha256:hostile');
  const own = await made(undefined);
  expect(own.steps).toEqual(['resolve', 'build']);
  expect(own.layers).not.toEqual(hostile.layers);
  expect(await made(undefined)).toEqual({ steps: [], layers: own.layers });
  expect(await made('sha256:hostile')).toEqual({ steps: [], layers: hostile.layers });
  expect((await made('sha256:other')).steps).toEqual(['resolve', 'build']);
});
