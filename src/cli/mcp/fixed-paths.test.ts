import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { requireAbsolute, requireNoLinks } from './fixed-paths.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'hc-fixed-')));
  mkdirSync(join(folder, 'secrets', 'deep'), { recursive: true });
  mkdirSync(join(folder, 'data'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('accepts folders without links, also missing ones, and links in the root of the file system', () => {
  requireNoLinks({ loadRoots: [join(folder, 'data'), join(folder, 'missing', 'deep')], mountRoots: [folder, '/bin'] });
});

it('refuses a root that became a link, or lies below one, and names the link and its target', () => {
  symlinkSync('secrets', join(folder, 'link'));
  for (const root of [join(folder, 'link'), join(folder, 'link', 'deep')]) {
    for (const roots of [{ loadRoots: [root] }, { mountRoots: [root] }]) {
      expect(() => requireNoLinks(roots)).toThrow(
        expect.objectContaining({
          message: expect.stringMatching(/link is a symbolic link, .* Nothing was started/),
          remedy: expect.stringContaining('secrets'),
        }),
      );
    }
  }
});

it.each([{ HOTCELL_HOME: 'data' }, { HOTCELL_CONFIG: './config.json' }, { '--config': 'config.json' }])(
  'refuses relative paths of the data folder and of the configuration: %o',
  (named) => {
    expect(() => requireAbsolute(named)).toThrow(
      new RegExp(`^${Object.keys(named)[0]}: .* is relative to the current folder`),
    );
  },
);

it('accepts absolute ones', () => {
  requireAbsolute({ '--config': resolve('config.json'), HOTCELL_HOME: folder, HOTCELL_CONFIG: '' });
});
