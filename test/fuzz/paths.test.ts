import { isAbsolute, normalize } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { filePath, parseFilePath } from '../../src/artifacts/file-path.ts';
import { HotcellError } from '../../src/errors/hotcell-error.ts';
import { compileGlob, globMatches } from '../../src/mcp/host-files/glob.ts';
import { hostPlatform } from '../../src/mcp/host-files/platform.ts';
import { parseSource } from '../../src/mcp/host-files/source.ts';
import { checkedTarget } from '../../src/sessions/mount-targets.ts';
import { threadMs } from '../support/thread-time.ts';
import { fuzz } from './fuzz.ts';

const PIECES = [
  '/',
  '//',
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5c',
  '\\',
  '\0',
  '%00',
  '%',
  '~',
  '*',
  '**',
  '?',
  '[',
  ']',
  '{a,b}',
  '!(',
  '😀',
  '\ud800',
];
const ROOTS = ['/files/', '/files/s-1/', '/', '/data', '/workspace', '/proc', '/tmp', '/usr', '~/'];
const path = fc
  .tuple(
    fc.constantFrom('', ...ROOTS),
    fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 6 })), { maxLength: 12 }),
  )
  .map(([root, pieces]) => root + pieces.join(''));

fuzz(
  'paths: an address of a file names one below the workspace, and has one meaning',
  fc.property(path, (encoded) => {
    const named = parseFilePath(encoded);
    if (named === undefined) return;
    const names = [named.session, ...named.path.split('/')];
    expect(names.filter((name) => name === '' || name === '.' || name === '..' || /[\\\0/]/.test(name))).toEqual([]);
    expect(parseFilePath(filePath(named))).toEqual(named);
  }),
  3000,
);

fuzz(
  'paths: a target of a mount is refused, or is an absolute path in its only spelling',
  fc.property(path, (target) => {
    try {
      const taken = checkedTarget(target);
      expect(isAbsolute(taken)).toBe(true);
      expect(normalize(taken)).toBe(taken);
      expect(taken).toMatch(/^\/[\w./-]+$/);
      expect(taken).not.toMatch(/^\/(?:proc|sys|dev|usr|etc|run)(?:\/|$)/);
    } catch (error) {
      unlessOurs(error);
    }
  }),
  3000,
);

fuzz(
  'paths: what load_file is asked for is refused, or an absolute folder and a pattern that is quick',
  fc.property(path, fc.array(path, { maxLength: 3 }), (source, names) => {
    try {
      const found = parseSource(source, { home: '/home/me', base: '/work', platform: hostPlatform() });
      expect(isAbsolute(found.path)).toBe(true);
      expect(normalize(found.path)).toBe(found.path);
      if (found.pattern === undefined) return;
      expect(found.pattern.split('/')).not.toContain('..');
      const glob = compileGlob(found.pattern);
      const matches = (path: string) => globMatches(glob, path);
      const began = threadMs();
      for (const name of names) matches(name);
      expect(threadMs() - began).toBeLessThan(1000);
    } catch (error) {
      unlessOurs(error);
    }
  }),
  3000,
);

/** A refusal is an error of ours; anything else is a fault. */
function unlessOurs(error: unknown): undefined {
  if (!(error instanceof HotcellError) || error.code === 'internal') throw error;
}
