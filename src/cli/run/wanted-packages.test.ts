import { expect, test } from 'vitest';
import { splitRequirements, wantedPackages } from './wanted-packages.ts';

test('commas separate packages, but not versions and extras of one', () => {
  expect(splitRequirements('httpx,rich>=13,<15, uvicorn[standard,watch] ~=0.30 ,x')).toEqual([
    'httpx',
    'rich>=13,<15',
    'uvicorn[standard,watch] ~=0.30',
    'x',
  ]);
  expect(splitRequirements('')).toEqual([]);
});

test('a Python script names packages itself, and a program in another language does not', () => {
  const code = '# /// script\n# dependencies = ["rich"]\n# ///\nimport rich\n';
  expect(wantedPackages(['httpx'], { code, language: 'python' })).toEqual(['httpx', 'rich']);
  expect(wantedPackages(undefined, { code, language: 'bash' })).toEqual([]);
  expect(wantedPackages(['httpx'], undefined)).toEqual(['httpx']);
});
