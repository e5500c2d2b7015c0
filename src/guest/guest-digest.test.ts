import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { guestManifest } from '../../scripts/guest-manifest.mjs';
import { packageRoot } from '../lib/package-root.ts';
import { digestOf, guestDigest } from './guest-digest.ts';
import { guestFiles } from './guest-files.ts';

const root = mkdtempSync(join(tmpdir(), 'hotcell-digest-'));
const guest = join(root, 'guest', 'hotcell_guest');
const manifest = join(root, 'dist', 'guest-manifest.json');
const module = join(guest, '__main__.py');
cpSync(join(packageRoot(), 'guest', 'hotcell_guest'), guest, { recursive: true });
mkdirSync(join(root, 'dist'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('the digest of the build is that of the files', () => {
  writeFileSync(manifest, JSON.stringify(guestManifest(guest)));
  expect(guestDigest(root)).toBe(digestOf(guestFiles(guest)));
  writeFileSync(manifest, JSON.stringify({ ...guestManifest(guest), digest: 'as built' }));
  expect(guestDigest(root)).toBe('as built');
});

test('a file that was changed after the build, or is missing, has the files read', () => {
  writeFileSync(manifest, JSON.stringify({ ...guestManifest(guest), digest: 'as built' }));
  utimesSync(module, new Date(), new Date(Date.now() + 60_000));
  expect(guestDigest(root)).toBe(digestOf(guestFiles(guest)));
  rmSync(module);
  expect(guestDigest(root)).toBe(digestOf(guestFiles(guest)));
  rmSync(manifest);
  expect(guestDigest(root)).toBe(digestOf(guestFiles(guest)));
});
