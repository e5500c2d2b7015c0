import { expect, it } from 'vitest';
import { sharedLinks as linksOf } from './links.ts';
import type { LayerEntry } from './tree.ts';

const folder = (path: string): LayerEntry => ({ kind: 'folder', path });
const file = (path: string): LayerEntry => ({ kind: 'file', path, size: 1, isExecutable: true });
const sharedLinks = (name: string, entries: LayerEntry[]) => linksOf(name, entries, { hasInstaller: false });
const link = (path: string): LayerEntry => ({ kind: 'link', path, target: 'x' });

it('links the programs of a layer, of Python and of Node', () => {
  expect(
    sharedLinks('0002', [folder('bin'), file('bin/tool'), link('bin/alias'), link('node_modules/.bin/tsc')]),
  ).toEqual([
    { path: 'bin/tool', target: '../0002/bin/tool' },
    { path: 'bin/alias', target: '../0002/bin/alias' },
    { path: 'bin/tsc', target: '../0002/node_modules/.bin/tsc' },
  ]);
});

it('never links a program that kernels are started by', () => {
  const names = ['python', 'python3', 'python3.12', 'node', 'bash', 'sh', 'env'];
  expect(
    sharedLinks(
      '0001',
      names.map((name) => file(`bin/${name}`)),
    ),
  ).toEqual([]);
});

it('links packages for Node and those of a scope, with paths of the sandbox, and nothing inside of them', () => {
  const entries = [
    ...[
      'node_modules',
      'node_modules/lodash',
      'node_modules/lodash/node_modules',
      'node_modules/lodash/node_modules/x',
    ],
    ...['node_modules/@scope', 'node_modules/@scope/pkg', 'node_modules/@scope/pkg/lib', 'node_modules/.package'],
    ...['python/node_modules', 'node_modules/.bin'],
  ].map(folder);
  expect(sharedLinks('0001', [...entries, file('node_modules/.package-lock.json'), file('node_modules/x.js')])).toEqual(
    [
      { path: 'node_modules/lodash', target: '/opt/hotcell/layers/0001/node_modules/lodash' },
      { path: 'node_modules/@scope/pkg', target: '/opt/hotcell/layers/0001/node_modules/@scope/pkg' },
    ],
  );
});

it('leaves our installer in its place, where there is one', () => {
  const entries = ['pip', 'pip3', 'uv', 'npm', 'uvx'].map((name) => file(`bin/${name}`));
  expect(linksOf('0001', entries, { hasInstaller: true }).map(({ path }) => path)).toEqual(['bin/uvx']);
  expect(sharedLinks('0001', entries)).toHaveLength(5);
});
