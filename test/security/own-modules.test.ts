import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/lib/package-root.ts';
import { buildOnce } from '../support/built-program.ts';

const dist = join(packageRoot(), 'dist');
const folder = mkdtempSync(join(tmpdir(), 'hotcell-modules-'));
const listed = Object.keys(JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).dependencies);

beforeAll(() => buildOnce());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Modules that a text loads by name. Ajv has names of modules in strings, for code that it could write. */
function loadedBy(text: string): string[] {
  const patterns = [
    /(?<!['"`\w.])(?:__)?(?:require|import)\(\s*["']([^"']+)["']\s*\)/g,
    /^\s*(?:import|export)\b[^'"\n]*?["']([^"'\n]+)["'];?$/gm,
  ];
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name!));
}

describe('the built Hotcell', () => {
  it("loads its own files, Node's modules and the dependencies that it lists, and nothing else", () => {
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js'));
    const loaded = files.flatMap((path) => loadedBy(readFileSync(join(dist, path), 'utf8')));
    expect(loaded).toContain('node:fs');
    const own = (name: string) => /^\.{1,2}\/[\w./-]+\.js$/.test(name);
    const known = (name: string) => isBuiltin(name) || own(name) || listed.includes(name.split('/')[0]!);
    expect([...new Set(loaded.filter((name) => !known(name)))]).toEqual([]);
  });

  it('runs no module that lies where Node would look for one', () => {
    const ran = join(folder, 'ran');
    for (const name of ['cpu-features', 'supports-color']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'index.js'), `require('node:fs').writeFileSync(${JSON.stringify(ran)}, '');`);
    }
    const chunks = readdirSync(join(dist, 'chunks')).filter((name) => /^(docker|engine|container)-/.test(name));
    expect(chunks.length).toBeGreaterThan(0);
    const load = [...chunks.map((name) => join(dist, 'chunks', name))].map(
      (path) => `await import(${JSON.stringify(path)});`,
    );
    const program = (text: string) =>
      spawnSync(process.execPath, ['--input-type=module', '-e', text], {
        env: { PATH: process.env.PATH, NODE_PATH: folder, DEBUG: '*' },
        cwd: '/',
        encoding: 'utf8',
      });
    expect(program(load.join('\n')).stderr).not.toMatch(/Error/);
    expect(existsSync(ran)).toBe(false);
    const required = `import { createRequire } from 'node:module'; createRequire('/x.js')('cpu-features');`;
    program(required);
    expect(existsSync(ran)).toBe(true);
  });
});
