import { expect, test } from 'vitest';
import { addressKey, networksOf } from './networks.ts';

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.0.0.7', '10.0.0.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', ''],
])('%s is counted as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test.each([
  ['2001:db8:1:2::6', ['2001:db8:1::/48', '2001:db8:1:2::/64', '2001:db8:1:2::6']],
  ['::ffff:10.1.2.3', ['10.1', '10.1.2', '10.1.2.3']],
  ['10.1.2.3', ['10.1', '10.1.2', '10.1.2.3']],
])('%s lies in these networks: %s', (address, networks) => {
  expect(networksOf(address)).toEqual(networks);
});
