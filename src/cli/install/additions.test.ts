import { describe, expect, it } from 'vitest';
import { KEEP_ALL, withAdditions } from './additions.ts';

const ENTRY = { type: 'stdio', command: '/usr/bin/node', args: ['/opt/hotcell/dist/cli.js', 'mcp'] };
const NOTHING_KNOWN = { isKnown: () => false };

describe('additions to an entry', () => {
  it('stay in the user’s own configuration', () => {
    const old = { ...ENTRY, command: 'other', env: { MINE: '1', HOTCELL_MOUNT_ROOTS: '/data' }, timeout: 5 };
    const { entry, kept, dropped } = withAdditions(old, { ...ENTRY, env: { HOTCELL_PROFILE: 'x' } }, KEEP_ALL);
    expect(entry).toEqual({
      ...ENTRY,
      env: { MINE: '1', HOTCELL_MOUNT_ROOTS: '/data', HOTCELL_PROFILE: 'x' },
      timeout: 5,
    });
    expect(kept).toEqual({ variables: { MINE: '1', HOTCELL_MOUNT_ROOTS: '/data' }, members: { timeout: 5 } });
    expect(dropped).toEqual([]);
  });

  it.each([
    ...['NODE_OPTIONS', 'NODE_PATH', 'node_options', 'NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED'],
    ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'OPENSSL_CONF', 'PYTHONPATH', 'BASH_ENV'],
  ])('never include the variable %s', (name) => {
    const { entry, dropped } = withAdditions({ ...ENTRY, env: { [name]: 'x', MINE: '1' } }, ENTRY, KEEP_ALL);
    expect(entry).toEqual({ ...ENTRY, env: { MINE: '1' } });
    expect(dropped).toEqual([name]);
  });

  it.each(['url', 'httpUrl', 'headers', 'envFile'])('never include the member %s', (name) => {
    expect(withAdditions({ ...ENTRY, [name]: 'x' }, ENTRY, KEEP_ALL)).toMatchObject({ entry: ENTRY, dropped: [name] });
  });

  it('are dropped if the user does not know them', () => {
    const old = { ...ENTRY, env: { MINE: '1' }, cwd: './evil' };
    expect(withAdditions(old, ENTRY, NOTHING_KNOWN)).toEqual({
      entry: ENTRY,
      kept: { variables: {}, members: {} },
      dropped: ['MINE', 'cwd'],
    });
  });

  it('are empty if the entry is invalid', () => {
    for (const old of [undefined, 'x', [1], null]) expect(withAdditions(old, ENTRY, KEEP_ALL).entry).toEqual(ENTRY);
  });
});
