import { expect, test } from 'vitest';
import { pinnedAddresses } from './pinned-addresses.ts';
import { parsePolicy } from './policy.ts';

const OPEN = { ceiling: parsePolicy('all'), wanted: parsePolicy('all') };
const name = { host: 'example.com', port: 443, isAddress: false };
const own = new Set(['93.184.216.1']);
const pinned = (resolved: string[], named = false, rules = OPEN) =>
  pinnedAddresses({ target: name, named, rules }, resolved, own);

test('public addresses are taken, the families in turn', () => {
  expect(pinned(['2606:4700::1', '2606:4700::2', '1.1.1.1', '1.0.0.1', '1.1.1.1'])).toEqual({
    kind: 'addresses',
    addresses: ['2606:4700::1', '1.1.1.1', '2606:4700::2', '1.0.0.1'],
    isPublic: true,
  });
});

test.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::ffff:10.0.0.1', '64:ff9b::a00:1', '93.184.216.1', '0.0.0.0'])(
  'a name that resolves to %s is refused',
  (address) => {
    expect(pinned([address])).toEqual({ kind: 'refused', why: 'private-address' });
  },
);

test('of a mixed answer only public addresses are left', () => {
  expect(pinned(['10.0.0.1', '1.1.1.1', '::1'])).toMatchObject({ addresses: ['1.1.1.1'] });
});

test('a name that the operator gave may be private, but not a metadata address', () => {
  expect(pinned(['10.0.0.1', '127.0.0.1', '93.184.216.1'], true)).toMatchObject({
    addresses: ['10.0.0.1', '127.0.0.1', '93.184.216.1'],
    isPublic: false,
  });
  for (const address of ['169.254.169.254', 'fd00:ec2::254', '224.0.0.1', '0.0.0.0'])
    expect(pinned([address], true)).toEqual({ kind: 'refused', why: 'private-address' });
});

test('an address that the operator gave is itself', () => {
  const target = { host: '169.254.169.254', port: 80, isAddress: true };
  expect(pinnedAddresses({ target, named: true, rules: OPEN }, [target.host], own)).toMatchObject({
    addresses: ['169.254.169.254'],
  });
});

test('a denied address is denied to names that resolve to it, in every form', () => {
  const rules = { ceiling: parsePolicy(['all', '!1.1.1.1']), wanted: parsePolicy('all') };
  for (const address of ['1.1.1.1', '::ffff:1.1.1.1', '64:ff9b::101:101'])
    expect(pinned([address], false, rules)).toEqual({ kind: 'refused', why: 'denied' });
  expect(pinned(['1.1.1.1', '1.0.0.1'], false, rules)).toMatchObject({ addresses: ['1.0.0.1'] });
});
