import { describe, expect, it } from 'vitest';
import { recipeSchema } from './recipe.ts';
import { allLanguages, kernelOf, languageNamed } from './table.ts';

const recipe = { language: 'lua', fileName: 'main.lua', needs: ['lua'], run: ['lua', '{source}'] };

describe('the table of languages', () => {
  it('has each name and alias once', () => {
    const names = allLanguages().flatMap(({ name, aliases }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  it("prefers a user's recipe to a built-in one of the same name", () => {
    const clang = recipeSchema.parse({ ...recipe, language: 'c', needs: ['clang'] });
    const languages = allLanguages([recipeSchema.parse(recipe), clang]);
    expect(languageNamed(languages, 'c').needs).toEqual(['clang']);
    expect(languageNamed(languages, 'lua').recipe?.run).toEqual(['lua', '{source}']);
    expect(languages.filter(({ name }) => name === 'c')).toHaveLength(1);
  });

  it('lists the known languages if one is unknown', () => {
    expect(() => languageNamed(allLanguages(), 'cobol')).toThrowError(
      expect.objectContaining({ code: 'unknown_language', remedy: expect.stringContaining('python, bash') }),
    );
  });
});

describe('the kernel of a language', () => {
  it.each([
    ['python', 'python'],
    ['typescript', 'node'],
    ['c', 'recipes'],
    ['invented by a client', 'recipes'],
    ['__proto__', 'recipes'],
  ])('%s is %s', (name, kernel) => expect(kernelOf({ name })).toBe(kernel));
});

describe('a recipe', () => {
  it.each([
    ['a path as file name', { fileName: '../main.lua' }],
    ['a path as command', { needs: ['/usr/bin/lua'] }],
    ['nothing to run', { run: [] }],
    ['a language in capitals', { language: 'Lua' }],
    ['an extension without a dot', { extensions: ['lua'] }],
    ['a member that there is not', { compile: ['lua'] }],
    ['more than a frame could carry', { run: Array.from({ length: 50 }, () => 'x'.repeat(1000)) }],
  ])('with %s is refused', (_what, change) => {
    expect(recipeSchema.safeParse(recipe).success).toBe(true);
    expect(recipeSchema.safeParse({ ...recipe, ...change }).success).toBe(false);
  });
});
