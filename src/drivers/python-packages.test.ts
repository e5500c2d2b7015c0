import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-root.ts';
import { standardPackages } from './python-packages.ts';

test('the guest knows which packages come with the set-up', () => {
  const source = readFileSync(join(packageRoot(), 'guest/hotcell_guest/interpreter/package_names.py'), 'utf8');
  const names = JSON.parse(/^STANDARD = frozenset\((\[.*\])\)$/m.exec(source)?.[1] ?? '[]') as string[];
  expect(names).toEqual([...standardPackages].sort());
});
