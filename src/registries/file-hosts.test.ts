import { describe, expect, it } from 'vitest';
import { fileHosts, hostsOfPages, merged, ownHosts, type ReadPage } from './file-hosts.ts';

const linking: ReadPage = async ({ url }, path) => ({
  urls: [new URL(path, url).href],
  text: '<a href="https://files.example/pip.whl">pip</a>',
  isPrivate: url.includes('10.1.2.3'),
});
const failing: ReadPage = async () => {
  throw new Error('no route');
};
const atPublic = { url: 'https://8.8.8.8/simple/' };
const atPrivate = { url: 'http://10.1.2.3:3141/simple/' };

describe('the hosts of registries', () => {
  it('are named by the operator', () => {
    expect(ownHosts([atPublic, atPrivate])).toEqual([
      { rule: '8.8.8.8', configured: true },
      { rule: '10.1.2.3:3141', configured: true },
    ]);
  });

  it('that a page of a public index links to are not named by the operator', async () => {
    const { hosts, complete } = await fileHosts([atPublic], 'pip/', linking);
    expect(hosts).toContainEqual({ rule: 'files.example', configured: false });
    expect(complete).toBe(true);
  });

  it("that a mirror of the host's own network links to may be there as well", async () => {
    const { hosts } = await fileHosts([atPrivate], 'pip/', linking);
    expect(hosts).toContainEqual({ rule: 'files.example', configured: true });
  });

  it('that the page of any project links to are never named', async () => {
    const hosts = await hostsOfPages([atPrivate], ['anything/'], linking);
    expect(hosts).toContainEqual({ rule: 'files.example', configured: false });
  });

  it('are incomplete if a registry cannot be reached', async () => {
    expect(await fileHosts([atPublic], 'pip/', failing)).toEqual({ hosts: [], complete: false });
  });

  it('are merged into one rule each', () => {
    const hosts = [true, false, true].map((configured, at) => ({ rule: at === 1 ? 'a' : 'b', configured }));
    expect(merged([...hosts, { rule: 'b', configured: false }])).toEqual([
      { rule: 'b', configured: true },
      { rule: 'a', configured: false },
    ]);
  });
});
