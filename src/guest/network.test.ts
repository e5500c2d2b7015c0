import { describe, expect, test } from 'vitest';
import type { Head } from '../lib/frames.ts';
import type { GuestConnection, RequestOptions } from './connection.ts';
import { type GuestNetwork, MAX_CA_BUNDLE_BYTES, setGuestNetwork } from './network.ts';
import { GuestRefusal } from './pending-requests.ts';

const PROXY: GuestNetwork = {
  listen: [{ name: 'proxy', kind: 'proxy' }],
  variables: { HTTPS_PROXY: 'http://127.0.0.1:{proxy}' },
};

describe('the network of a sandbox', () => {
  test('is asked for with its CA bundle as the body, and gives the ports', async () => {
    const { connection, asked } = guest({ ports: { proxy: 40_001 } });
    const caBundle = Buffer.from('-----BEGIN');
    await expect(setGuestNetwork(connection, { ...PROXY, caBundle })).resolves.toEqual({ proxy: 40_001 });
    expect(asked).toEqual([{ head: { type: 'network', ...PROXY }, body: caBundle }]);
  });

  test.each([
    ['no port', { ports: { proxy: 0 } }],
    ['a port that is text', { ports: { proxy: '80' } }],
    ['no ports', {}],
    ['a flood of ports', { ports: Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`p${index}`, 1])) }],
    ['a long name', { ports: { ['p'.repeat(65)]: 1 } }],
  ])('of a guest that answers with %s is refused', async (_what, result) => {
    await expect(setGuestNetwork(guest(result).connection, PROXY)).rejects.toThrow();
  });

  test('that the guest refuses is an error of ours', async () => {
    const connection = { request: () => Promise.reject(new GuestRefusal('no-space', 'network: no space')) };
    await expect(setGuestNetwork(connection, PROXY)).rejects.toMatchObject({ code: 'disk_full' });
  });

  test.each<[string, Partial<GuestNetwork>]>([
    ['a name with a brace', { listen: [{ name: 'a}', kind: 'forward' }] }],
    ['the name of a placeholder', { listen: [{ name: 'ca', kind: 'forward' }] }],
    ['a name twice', { listen: [...PROXY.listen, ...PROXY.listen] }],
    ['too large a bundle', { caBundle: Buffer.alloc(MAX_CA_BUNDLE_BYTES + 1) }],
  ])('with %s is never asked for', async (_what, changed) => {
    const { connection, asked } = guest({ ports: {} });
    await expect(setGuestNetwork(connection, { ...PROXY, ...changed })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(asked).toEqual([]);
  });
});

/** A guest that gives this result to every request, as far as its schema allows. */
function guest(result: unknown) {
  const asked: { head: Head; body: Buffer | undefined }[] = [];
  const request: GuestConnection['request'] = async (head, schema, { body }: RequestOptions = {}) => {
    asked.push({ head, body });
    return { result: schema.parse(result), body: Buffer.alloc(0) };
  };
  return { connection: { request }, asked };
}
