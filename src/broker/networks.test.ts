import { expect, test } from 'vitest';
import type { NetworkEvent, SessionNetwork } from '../network/contract.ts';
import { parsePolicy } from '../network/policy.ts';
import { createSessionNetwork } from '../network/session-network.ts';
import { createSessionNetworks } from './networks.ts';

const rules = { ceiling: parsePolicy('all'), wanted: parsePolicy('all') };
const made = (): SessionNetwork => createSessionNetwork({ rules });
const none = () => {};

test('each session has its own network, and no other', () => {
  const networks = createSessionNetworks({ perOwner: 10 });
  const [one, two] = [made(), made()];
  networks.add('s-1', { network: one, onEvent: none });
  networks.add('s-2', { network: two, onEvent: none });
  using held = networks.begin({ owner: 'anna', session: 's-2' });
  expect(held.network).toBe(two);
  expect(() => networks.begin({ owner: 'anna', session: 's-3' })).toThrow(/no network/);
});

test('a session that is removed has none, and its connections end', async () => {
  const networks = createSessionNetworks({ perOwner: 10 });
  const network = made();
  networks.add('s-1', { network, onEvent: none });
  networks.remove('s-1');
  expect(() => networks.begin({ owner: 'anna', session: 's-1' })).toThrow(/no network/);
  expect(await network.open({ host: 'a.example', port: 443 })).toMatchObject({ refusal: { why: 'closed' } });
});

test('an owner has a limit over all its sessions, and takes nothing from others', () => {
  const networks = createSessionNetworks({ perOwner: 2 });
  const events: NetworkEvent[] = [];
  for (const session of ['s-1', 's-2', 's-3'])
    networks.add(session, { network: made(), onEvent: (event) => events.push(event) });
  const first = networks.begin({ owner: 'anna', session: 's-1' });
  networks.begin({ owner: 'anna', session: 's-2' });
  const third = () => networks.begin({ owner: 'anna', session: 's-2' }, { host: 'a.example', port: 443 });
  expect(third).toThrow(expect.objectContaining({ code: 'too-many' }));
  expect(events).toMatchObject([{ event: 'refused', refusal: { host: 'a.example', why: 'too-many-connections' } }]);
  networks.begin({ owner: 'bert', session: 's-3' });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  third();
  expect(third).toThrow();
});
