import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addressKind, canonicalAddress } from './addresses.ts';

test.each([
  ...[
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '2606:4700::1111',
    '2a00:1450:4001::1',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ],
])('%s is public', (address) => {
  expect(addressKind(address)).toBe('public');
});

test.each([
  ...[
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '127.0.0.1',
    '127.255.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '::1',
    'fc00::1',
    'fd12:3456::1',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '198.18.0.1',
    '198.19.255.255',
  ],
  ...['::ffff:127.0.0.1', '::ffff:a00:1', '64:ff9b::a00:1', '64:ff9b::7f00:1', '64:ff9b::192.168.0.1'],
])('%s is private', (address) => {
  expect(addressKind(address)).toBe('private');
});

test.each([
  ...[
    '0.0.0.0',
    '0.1.2.3',
    '169.254.1.1',
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
  ],
  ...['224.0.0.1', '239.255.255.250', '255.255.255.255', '240.0.0.1', '192.88.99.1'],
  ...[
    '::',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '2001:db8::1',
    '3fff::1',
    '100::1',
    '5f00::1',
    '4000::1',
    'e000::1',
  ],
  // IPv4-compatible, IPv4-translated, NAT64 for local use, 6to4, Teredo, ISATAP
  ...[
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:0:127.0.0.1',
    '64:ff9b:1::7f00:1',
    '64:ff9b:1:7f00:0:100::',
    '2002:7f00:1::',
    '2002:808:808::1',
  ],
  ...[
    '2001::7f00:1',
    '2001:0:4136:e378:8000:63bf:80ff:fffe',
    'fe80::5efe:10.0.0.1',
    '2606:4700::5efe:10.0.0.1',
    '2606:4700::200:5efe:7f00:1',
  ],
  ...['::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', 'example.com', ''],
])('%s is special', (address) => {
  expect(addressKind(address)).toBe('special');
});

test("the host's own addresses are private", () => {
  const own = new Set(['8.8.8.8', '2606:4700::1111']);
  for (const address of ['8.8.8.8', '::ffff:8.8.8.8', '64:ff9b::808:808', '2606:4700:0::1111'])
    expect(addressKind(address, own)).toBe('private');
  expect(addressKind('8.8.4.4', own)).toBe('public');
});

test('an address of IPv4 is of the same kind in its mapped form and behind NAT64', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(addressKind(`::ffff:${address}`)).toBe(addressKind(address));
      expect(addressKind(`64:ff9b::${address}`)).toBe(addressKind(address));
      expect(canonicalAddress(`64:ff9b::${address}`)).toBe(address);
      for (const form of [`::${address}`, `::ffff:0:${address}`, `2001::${address}`, `64:ff9b:1::${address}`])
        expect(addressKind(form)).not.toBe('public');
    }),
  );
});
