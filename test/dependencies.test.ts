import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildPackages } from '../scripts/build-packages.mjs';
import { type NpmRegistry, startNpmRegistry } from './support/npm-registry.ts';

const root = new URL('..', import.meta.url).pathname;
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

describe('a fresh clone', () => {
  let clone: string;
  let registry: NpmRegistry;
  beforeEach(async () => {
    clone = mkdtempSync(join(tmpdir(), 'hc-clone-'));
    registry = await startNpmRegistry();
    const script = { scripts: { install: "node -e \"fs.writeFileSync('ran', '')\"" } };
    registry.add(
      { name: 'needed', manifest: { ...script, dependencies: { 'needed-too': '1.0.0' } } },
      { name: 'needed-too' },
      { name: 'vitest', manifest: { dependencies: { 'of-vitest': '1.0.0' } } },
      { name: 'of-vitest' },
    );
    const devDependencies = { needed: '^1.0.0', vitest: '^1.0.0' };
    writeFileSync(join(clone, 'package.json'), JSON.stringify({ name: 'clone', version: '1.0.0', devDependencies }));
    writeFileSync(join(clone, '.npmrc'), `registry=${registry.url}\ncache=${join(clone, 'cache')}\n`);
    await run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund']);
    mkdirSync(join(clone, 'scripts'));
    for (const name of ['dependencies.mjs', 'build-packages.mjs'])
      cpSync(join(root, 'scripts', name), join(clone, 'scripts', name));
  });
  afterEach(async () => {
    await registry[Symbol.asyncDispose]();
    rmSync(clone, { recursive: true, force: true });
  });

  /** Does not block this process, which serves the registry. */
  async function run(program: string, args: readonly string[]): Promise<string> {
    return (await promisify(execFile)(program, args, { cwd: clone })).stdout;
  }

  const ensure = async (options: { forBuild?: boolean } = {}) => {
    const code = `const { ensureDependencies } = await import('./scripts/dependencies.mjs'); console.log(typeof ensureDependencies(${JSON.stringify(options)}));`;
    return (await run(process.execPath, ['--input-type=module', '-e', code])) === 'number\n'
      ? 'installed'
      : 'nothing to do';
  };
  const has = (path: string) => existsSync(join(clone, 'node_modules', path));

  it('gets what the build needs, then the rest where a test needs it, and runs no install script', async () => {
    expect(await ensure({ forBuild: true })).toBe('installed');
    expect([has('needed'), has('needed-too'), has('vitest'), has('of-vitest')]).toEqual([true, true, false, false]);
    expect(registry.requests.filter((path) => path.includes('vitest/-/'))).toEqual([]);
    expect(await ensure({ forBuild: true })).toBe('nothing to do');
    expect(await ensure()).toBe('installed');
    expect([has('needed'), has('vitest'), has('of-vitest')]).toEqual([true, true, true]);
    expect(await ensure()).toBe('nothing to do');
    expect(await ensure({ forBuild: true })).toBe('nothing to do');
    expect(has('needed/ran')).toBe(false);
  });

  it('has all packages after `npm install`, too', async () => {
    await ensure({ forBuild: true });
    await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts']);
    expect(has('vitest')).toBe(true);
    expect(await ensure()).toBe('nothing to do');
  });

  it('keeps all packages where all were installed and the lock file has changed since', async () => {
    await ensure();
    const later = new Date(Date.now() + 10_000);
    utimesSync(join(clone, 'package-lock.json'), later, later);
    expect(await ensure({ forBuild: true })).toBe('installed');
    expect([has('needed'), has('vitest')]).toEqual([true, true]);
  });
});

describe('the packages for the build', () => {
  const { lock } = buildPackages(readJson(join(root, 'package.json')), readJson(join(root, 'package-lock.json')));
  const paths = Object.keys(lock.packages).filter((path) => path !== '');

  it('are a part of all, at the same versions', () => {
    const all = readJson(join(root, 'package-lock.json')).packages;
    for (const path of paths) expect(lock.packages[path]).toEqual(all[path]);
    expect(paths.length).toBeLessThan(Object.keys(all).length / 2);
    expect(paths).not.toContain('node_modules/vitest');
  });

  it('are enough for it', () => {
    const clone = mkdtempSync(join(tmpdir(), 'hc-clone-'));
    try {
      for (const path of paths.filter((each) => existsSync(join(root, each))))
        cpSync(join(root, path), join(clone, path), {
          recursive: true,
          // Packages inside of packages have paths of their own.
          filter: (source) => !source.slice(root.length + path.length).includes('/node_modules'),
        });
      for (const name of ['src', 'scripts', 'guest', 'images', 'package.json', 'package-lock.json', 'tsconfig.json'])
        cpSync(join(root, name), join(clone, name), {
          recursive: true,
          filter: (source) => !/\/node-\w+\.js$/.test(source),
        });
      writeFileSync(join(clone, 'node_modules', '.package-lock.json'), '{}'); // npm's mark that all is there
      const node = (...args: string[]) =>
        execFileSync(process.execPath, args, { cwd: clone, stdio: 'pipe' }).toString();
      node('scripts/build.mjs', '--no-types');
      const { version } = readJson(join(root, 'package.json'));
      expect(node('dist/cli.js', '--version')).toContain(version);
      expect(existsSync(join(clone, 'guest/hotcell_guest/languages/node-syntax.js'))).toBe(true);
    } finally {
      rmSync(clone, { recursive: true, force: true });
    }
  });
});
