import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTokenStore } from './store.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hc-tokens-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const files = () => readdirSync(join(home, 'tokens')).map((name) => join(home, 'tokens', name));

describe('tokens', () => {
  it('cannot be derived from what is stored', async () => {
    const store = openTokenStore(home);
    const { text, id } = await store.create('ci', { sessions: 3 });
    expect(await store.verify(text)).toMatchObject({ id, name: 'ci', quotas: { sessions: 3 } });
    const stored = files().map((path) => readFileSync(path, 'utf8'));
    expect(stored.join()).not.toContain(text.slice(-43));
    expect(await store.verify(JSON.parse(stored[0]!).hash)).toBeUndefined();
  });

  it('may have a network of their own, whose rules are checked', async () => {
    const store = openTokenStore(home);
    const { text } = await store.create('ci', { network: ['api.example.com', '!x.example.com'] });
    expect(await store.verify(text)).toMatchObject({ network: ['api.example.com', '!x.example.com'] });
    expect(await store.verify((await store.create('usual')).text)).not.toHaveProperty('network');
    await expect(store.create('wrong', { network: ['a/b'] })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('are unreadable for other users of the machine', async () => {
    await openTokenStore(home).create('ci');
    expect([join(home, 'tokens'), ...files()].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
  });

  it.each(['tokens', '.'])('are trusted only if other users of the machine cannot write there (%s)', (name) => {
    mkdirSync(join(home, 'tokens'));
    chmodSync(join(home, name), 0o777);
    expect(() => openTokenStore(home)).toThrow(/can be written to by other users/);
  });

  it('are refused with one character changed, truncated, or of another installation', async () => {
    const store = openTokenStore(home);
    const { text } = await store.create('ci');
    const last = text.at(-2) === 'A' ? 'B' : 'A';
    const wrong = [
      text.slice(0, -2) + last + text.slice(-1),
      text.slice(0, -1),
      `${text} `,
      '',
      'hotcell__',
      '../../x',
    ];
    expect(await Promise.all(wrong.map((each) => store.verify(each)))).toEqual(wrong.map(() => undefined));
    writeFileSync(join(home, 'installation'), 'another');
    expect(await store.verify(text)).toBeUndefined();
  });

  it('are revoked for a server that has used them already', async () => {
    const server = openTokenStore(home);
    const { text, id } = await openTokenStore(home).create('laptop');
    expect(await server.verify(text)).toBeDefined();
    await openTokenStore(home).revoke('laptop');
    expect([await server.verify(text), await server.find(id), await server.list()]).toEqual([undefined, undefined, []]);
    expect(files()).toEqual([]);
  });

  it('record their last use, to the minute', async () => {
    let time = Date.UTC(2026, 0, 1);
    const store = openTokenStore(home, () => time);
    const { text } = await store.create('ci');
    expect((await store.list())[0]).not.toHaveProperty('lastUsedAt');
    await store.verify(text);
    time += 59_000;
    await store.verify(text);
    expect((await store.list())[0]?.lastUsedAt).toBe('2026-01-01T00:00:00.000Z');
    time += 1000;
    await store.verify(text);
    expect((await store.list())[0]?.lastUsedAt).toBe('2026-01-01T00:01:00.000Z');
  });

  it('are revoked one at a time, by id where a name is not enough', async () => {
    const store = openTokenStore(home);
    const [first] = [await store.create('ci'), await store.create('ci')];
    await expect(store.revoke('ci')).rejects.toMatchObject({ remedy: expect.stringContaining(first!.id) });
    await store.revoke(first!.id);
    await store.revoke('ci');
    await expect(store.revoke('ci')).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it.each(['', ' x', '../x', 'a\nb', 'x'.repeat(65)])('cannot have the name %j', async (name) => {
    await expect(openTokenStore(home).create(name)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('are not accepted from a corrupt file', async () => {
    const store = openTokenStore(home);
    const { text } = await store.create('ci');
    writeFileSync(files()[0]!, '{}');
    expect(await store.verify(text)).toBeUndefined();
  });
});
