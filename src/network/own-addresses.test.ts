import type { NetworkInterfaceInfo } from 'node:os';
import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { createOwnAddresses } from './own-addresses.ts';

test("the host's addresses are read anew after some seconds", () => {
  const clock = manualClock();
  let address = '203.0.113.7';
  const own = createOwnAddresses(clock, () => ({ eth0: [{ address } as NetworkInterfaceInfo], gone: undefined }));
  expect([...own()]).toEqual(['203.0.113.7']);
  address = '203.0.113.8';
  expect([...own()]).toEqual(['203.0.113.7']);
  clock.advance(5000);
  expect([...own()]).toEqual(['203.0.113.8']);
});

test('loopback is among those of this host', () => {
  expect(createOwnAddresses()()).toContain('127.0.0.1');
});
