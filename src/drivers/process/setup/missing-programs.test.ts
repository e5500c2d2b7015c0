import { expect, it } from 'vitest';
import { missingProgramsText } from './missing-programs.ts';

it('says which programs sandboxes lack, and how to add them', () => {
  const text = missingProgramsText((path) => !/\/(rg|ps)$/.test(path), true);
  expect(text).toMatch(/without ps, rg\. Add them with: sudo apt-get install procps ripgrep$/);
});

it('names no package manager that is not there', () => {
  expect(missingProgramsText((path) => !path.endsWith('/jq'), false)).toMatch(/without jq\.$/);
});

it('says nothing where nothing is missing', () => {
  expect(missingProgramsText((path) => path.startsWith('/usr/bin/'))).toBeUndefined();
});
