import type { RecipeInput } from '../../src/index.ts';

/** Recipes as a user's configuration adds them. */
export const TEST_RECIPES: readonly RecipeInput[] = [
  {
    language: 'c-zlib',
    fileName: 'main.c',
    extensions: ['.czlib'],
    needs: ['gcc'],
    build: ['gcc', '-Wall', '-o', '{program}', '{source}', '-lz'],
    run: ['{program}'],
    packages: 'gcc zlib1g-dev',
  },
  {
    language: 'made-up',
    fileName: 'main.mu',
    needs: ['sh', 'made-up-compiler'],
    run: ['made-up-compiler', '{source}'],
    packages: 'made-up',
  },
  {
    language: 'env-printer',
    fileName: 'vars.txt',
    needs: ['sh'],
    run: ['sh', '-c', 'echo "$0 $1 $2 $GREETING"; pwd', '{main}', '{workspace}', '{unknown}'],
    environment: { GREETING: 'hello from {main}' },
  },
];
