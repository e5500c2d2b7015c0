import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { resolveDataDir, resolveRunDir, temporaryRunDir } from './load.ts';

const uid = process.getuid?.() ?? 0;
/** The maximum length of a socket path on Linux. */
const LONGEST_PATH = 107;
const BELOW = '/0123456789ab/jails/jail-0123456789a/control/control';

describe('the folder of running servers', () => {
  it('is in a data folder that was named, if socket paths below it are short enough', () => {
    const longest = `/${'x'.repeat(LONGEST_PATH - '/run'.length - BELOW.length - 1)}`;
    expect(resolveRunDir(longest, {})).toBe(`${longest}/run`);
    expect(`${resolveRunDir(longest, {})}${BELOW}`).toHaveLength(LONGEST_PATH);
    expect(resolveRunDir(`${longest}x`, {})).not.toContain(longest);
  });

  it.skipIf(uid === 0)('of the standard data folder is in XDG_RUNTIME_DIR, or is named after the user', () => {
    const env = { HOME: '/home/ada' };
    expect(resolveRunDir(resolveDataDir(env), { ...env, XDG_RUNTIME_DIR: '/run/user/1' })).toBe('/run/user/1/hotcell');
    const relative = { ...env, XDG_RUNTIME_DIR: 'x', XDG_DATA_HOME: 'x' };
    expect(resolveDataDir(relative)).toBe(resolveDataDir({}));
    expect(resolveRunDir(resolveDataDir(relative), relative)).toBe(temporaryRunDir(uid));
    expect(resolveRunDir(resolveDataDir(env), env)).toBe(`${tmpdir()}/hotcell-${uid}`);
  });

  it.skipIf(uid !== 0)("is /run/hotcell for root's standard data folder, whatever the environment is", () => {
    expect(resolveRunDir('/var/lib/hotcell', { XDG_RUNTIME_DIR: '/run/user/1' })).toBe('/run/hotcell');
  });
});
