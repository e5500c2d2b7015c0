import { tmpdir, userInfo } from 'node:os';
import { posix, win32 } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  absolutePath,
  accountHome,
  configFolder,
  dataFolder,
  homeFolder,
  runtimeFolder,
  systemConfigFolders,
  temporaryFolder,
} from './user-folders.ts';

const RELATIVE = ['', '.', '..', '.config', './config', '../config', '~/.config', ' /config'];

describe('a path from a variable', () => {
  it('is used if it is absolute', () => {
    expect(absolutePath('/srv/config')).toBe('/srv/config');
    expect(absolutePath('C:\\config', win32)).toBe('C:\\config');
    expect(absolutePath('C:\\config', posix)).toBeUndefined();
    expect(absolutePath(undefined)).toBeUndefined();
  });

  it.each(RELATIVE)('is not used if it depends on the current folder: "%s"', (path) => {
    expect(absolutePath(path)).toBeUndefined();
    expect(dataFolder({ XDG_DATA_HOME: path })).toBeUndefined();
    expect(runtimeFolder({ XDG_RUNTIME_DIR: path })).toBeUndefined();
    expect(configFolder({ XDG_CONFIG_HOME: path }, '/home/ada')).toBe('/home/ada/.config');
    expect(systemConfigFolders({ XDG_CONFIG_DIRS: path })).toEqual(['/etc/xdg']);
    expect(systemConfigFolders({ XDG_CONFIG_DIRS: `${path}:/srv/xdg` })).toEqual(['/srv/xdg']);
    expect(temporaryFolder(path)).toBe('/tmp');
  });

  it('names the folders of the XDG specification', () => {
    expect(dataFolder({ XDG_DATA_HOME: '/d' })).toBe('/d');
    expect(runtimeFolder({ XDG_RUNTIME_DIR: '/r' })).toBe('/r');
    expect(configFolder({ XDG_CONFIG_HOME: '/c' })).toBe('/c');
    expect(systemConfigFolders({ XDG_CONFIG_DIRS: '/a:/b' })).toEqual(['/a', '/b']);
    expect(systemConfigFolders({})).toEqual(['/etc/xdg']);
    expect(temporaryFolder()).toBe(tmpdir());
  });
});

describe('the home folder', () => {
  it('is the one that HOME names', () => {
    expect(homeFolder('/home/ada')).toBe('/home/ada');
  });

  it.each(RELATIVE)('is that of the account if HOME is "%s"', (home) => {
    expect(homeFolder(home)).toBe(userInfo().homedir);
    expect(accountHome()).toBe(userInfo().homedir);
  });

  it('is the root of the file system if the account has none', () => {
    expect(homeFolder('', () => undefined)).toBe('/');
  });
});
