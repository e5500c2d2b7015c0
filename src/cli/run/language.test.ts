import { describe, expect, it } from 'vitest';
import { recipeSchema } from '../../languages/recipe.ts';
import { allLanguages } from '../../languages/table.ts';
import { languageOf } from './language.ts';

const languages = allLanguages();

describe('the language of a program', () => {
  it.each([
    ['script.py', '', 'python'],
    ['dir.d/script.sh', '', 'bash'],
    ['prog.c', '', 'c'],
    ['prog.cc', '', 'cpp'],
    ['main.go', '', 'go'],
    ['Main.java', '', 'java'],
    ['PLOT.R', '', 'r'],
    ['plot.r', '', 'r'],
    ['-', 'print(1)', 'python'],
    ['-', '#!/bin/bash\necho', 'bash'],
    ['tool', '#!/usr/bin/env -S perl -w\n', 'perl'],
    ['tool', '#!/usr/bin/python3.11\n', 'python'],
    ['tool', '#! /bin/sh\n', 'sh'],
    ['tool', '#!/opt/unheard-of\n', 'python'],
    ['analysis.R', '#!/usr/bin/env Rscript\n', 'r'],
    ['tool.in', '#!/usr/bin/env Rscript\n', 'r'],
  ])('of %s that begins with %j is %s', (file, code, name) => {
    expect(languageOf(file, code, undefined, languages)).toBe(name);
  });

  it('is the requested one, by any of its names', () => {
    expect(languageOf('script.py', '', 'C++', languages)).toBe('cpp');
    expect(() => languageOf('-', '', 'cobol', languages)).toThrow(/cobol/);
  });

  it('is not guessed if the extension is unknown', () => {
    expect(() => languageOf('prog.cob', '', undefined, languages)).toThrow(/\.cob/);
  });

  it('can be one of the user’s own recipes', () => {
    const cobol = recipeSchema.parse({
      language: 'cobol',
      extensions: ['.cob', '.c'],
      fileName: 'main.cob',
      needs: ['cobc'],
      run: ['cobc', '-xj', '{source}'],
    });
    expect(languageOf('prog.cob', '', undefined, allLanguages([cobol]))).toBe('cobol');
    expect(languageOf('prog.c', '', undefined, allLanguages([cobol]))).toBe('cobol');
  });
});
