import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { entriesOf, firstTarEntry } from './tar-entry.ts';

describe('the first entry of an archive', () => {
  let folder: string;
  const long = `/${'far/'.repeat(40)}away`;
  const archived = (name: string, format: string) =>
    firstTarEntry(execFileSync('tar', ['-C', folder, `--format=${format}`, '-cf', '-', name]));
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hotcell-tar-'));
    writeFileSync(join(folder, 'file'), 'root:x:0:\n');
    symlinkSync('../elsewhere', join(folder, 'link'));
    symlinkSync(long, join(folder, 'long'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(['pax', 'gnu', 'ustar'])('is a file with its content, or a link with its target (%s)', (format) => {
    expect(archived('file', format)).toMatchObject({ kind: 'file', content: Buffer.from('root:x:0:\n') });
    expect(archived('link', format)).toMatchObject({ kind: 'link', linkTarget: '../elsewhere' });
  });

  it.each(['pax', 'gnu'])('is a link with a target that is longer than the header has room for (%s)', (format) => {
    expect(archived('long', format)).toMatchObject({ kind: 'link', linkTarget: long });
  });

  it('is undefined in a truncated archive', () => {
    const whole = execFileSync('tar', ['-C', folder, '-cf', '-', 'file']);
    expect(firstTarEntry(whole.subarray(0, 515))).toBeUndefined();
  });

  it('is parsed from arbitrary bytes without an exception or an endless loop', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => void firstTarEntry(Buffer.from(bytes))));
  });
});

describe('the entries of an archive', () => {
  it.each(['pax', 'gnu', 'ustar'])('are counted, also in a prefix of it (%s)', (format) => {
    const folder = mkdtempSync(join(tmpdir(), 'hotcell-tar-'));
    try {
      mkdirSync(join(folder, 'held'));
      const archive = () => execFileSync('tar', ['-C', folder, `--format=${format}`, '-cf', '-', 'held']);
      expect(entriesOf(archive())).toBe(1);
      writeFileSync(join(folder, 'held', 'n'.repeat(90)), 'a'.repeat(5000));
      expect(entriesOf(archive())).toBe(2);
      const content = archive().indexOf('aaaa');
      expect(entriesOf(archive().subarray(0, content + 100))).toBe(2);
      expect(entriesOf(archive().subarray(0, content - 512))).toBe(1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
