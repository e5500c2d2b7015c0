import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { anonymousOwner, tokenOwner } from '../../directory/owner.ts';
import type { NetworkSetting } from '../../network/contract.ts';
import { createAsking } from '../consent.ts';
import { refusedNotes } from './refused-notes.ts';

const sealed = loadConfig({}, { env: {} });
const network = { refused: [{ host: 'a.example', port: 443, why: 'not-allowed' as const }] };
const sessionWith = (setting: NetworkSetting) => ({
  session: { network: { setting: () => setting, services: () => [], set: async () => {} } },
});

test.each<[string, Parameters<typeof refusedNotes>[2]]>([
  ['the ceiling of the server', { owner: anonymousOwner(sealed), config: { ...sealed, network: ['all'] } }],
  ['the ceiling of a token', { owner: tokenOwner('t', sealed, {}, { network: ['a.example'] }), config: sealed }],
  ['asking the person', { owner: anonymousOwner(sealed), config: sealed, asking: createAsking() }],
])('name set_network, with the setting that would help, where %s allows one', (_, deps) => {
  expect(refusedNotes({ network }, sessionWith(['b.example']), deps)).toEqual([
    'The network policy refused a.example:443 (not-allowed). To ask for it: set_network {"network":["b.example","a.example"]}.',
  ]);
});

test('name the flag of the operator where there is no set_network', () => {
  const deps = { owner: anonymousOwner(sealed), config: sealed };
  expect(refusedNotes({ network }, sessionWith('none'), deps).join()).toMatch(/--network a\.example of the server\.$/);
});

test('name set_network only for what the ceiling allows', () => {
  const deps = { owner: anonymousOwner(sealed), config: { ...sealed, network: ['b.example'] } };
  const notes = (...hosts: string[]) => {
    const refused = hosts.map((host) => ({ host, port: 443, why: 'not-allowed' as const }));
    return refusedNotes({ network: { refused } }, sessionWith('none'), deps).join();
  };
  expect(notes('a.example', 'b.example')).toMatch(/set_network \{"network":\["b\.example"\]\}\.$/);
  expect(notes('a.example')).toMatch(/Only the user can allow it: --network a\.example of the server\.$/);
});

test('are none where nothing was refused', () => {
  expect(refusedNotes({}, sessionWith('all'), { owner: anonymousOwner(sealed), config: sealed })).toEqual([]);
});
