import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-root.ts';
import { requirementsFile, standardPackages } from './python-packages.ts';

test('the guest knows which packages come with the set-up', () => {
  const source = readFileSync(join(packageRoot(), 'guest/hotcell_guest/interpreter/package_names.py'), 'utf8');
  const listed = /^STANDARD = frozenset\(([\s\S]*?)\n\)$/m.exec(source)?.[1] ?? '';
  const names = [...listed.matchAll(/"([^"]+)"/g)].map(([, name]) => name);
  expect(names).toEqual([...standardPackages()].sort());
});

test('the lock has every standard package, each file with its hash', () => {
  const lock = readFileSync(requirementsFile(), 'utf8');
  for (const name of standardPackages())
    expect(lock).toMatch(new RegExp(`^${name}==[^\\s]+ \\\\\\n +--hash=sha256:`, 'm'));
});
