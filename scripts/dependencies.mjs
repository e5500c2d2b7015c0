import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { buildPackages } from './build-packages.mjs';

export const root = new URL('..', import.meta.url).pathname;

const installed = join(root, 'node_modules');
/** npm's own marker, which it writes at the end of an installation. */
const marker = join(installed, '.package-lock.json');
/** Written after it where only what the build needs is installed. */
const partMark = join(installed, '.hotcell-build-only');

/**
 * Installs the packages of package-lock.json if needed: all of them, or, with `forBuild`, where there are none yet, what
 * the build needs. Plain Node, because no package is installed yet.
 */
export function ensureDependencies({ forBuild = false } = {}) {
  requireNode();
  if (isInstalled({ forBuild })) return undefined;
  const begin = performance.now();
  const isPart = forBuild && (!existsSync(installed) || hasPartOnly());
  process.stderr.write(`- Dependencies: npm downloads about ${isPart ? 40 : 150} MB to node_modules …\n`);
  if ((isPart && installPart()) || install(root)) return performance.now() - begin;
  process.stderr.write('✗ Dependencies\n  Run:\n    npm install\n');
  process.exit(1);
}

/** Whether everything was installed after the lock file was written; with `forBuild`, what the build needs. */
function isInstalled({ forBuild }) {
  return isNewer(marker, join(root, 'package-lock.json')) && (forBuild || !hasPartOnly());
}

function hasPartOnly() {
  return isNewer(partMark, marker);
}

function isNewer(file, other) {
  return existsSync(file) && (!existsSync(other) || statSync(file).mtimeMs >= statSync(other).mtimeMs);
}

/** Installs what the build needs beside its place, because npm installs all that is in a lock file, and moves it there. */
function installPart() {
  const folder = join(root, '.hotcell', 'build-packages');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { manifest, lock } = buildPackages(readJson('package.json'), readJson('package-lock.json'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  if (existsSync(join(root, '.npmrc'))) copyFileSync(join(root, '.npmrc'), join(folder, '.npmrc'));
  const isDone = install(folder);
  if (isDone) {
    rmSync(installed, { recursive: true, force: true });
    writeFileSync(join(folder, 'node_modules', '.hotcell-build-only'), '');
    renameSync(join(folder, 'node_modules'), installed);
  }
  rmSync(folder, { recursive: true, force: true });
  return isDone;
}

/**
 * Runs npm. The install scripts of packages do not run: they would compile ssh2 and cpu-features for ten seconds, which
 * the bundle leaves out.
 */
function install(folder) {
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  // `npm ci` refuses a lock file without another platform's optional packages, which some registries do not carry.
  for (const how of [['ci'], ['install', '--no-save']]) {
    const { status, stderr } = spawnSync('npm', [...how, ...options], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      shell: process.platform === 'win32',
    });
    if (status === 0) return true;
    if (how[0] !== 'ci') process.stderr.write(stderr ?? '');
  }
  return false;
}

function readJson(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  process.stderr.write(`✗ Hotcell needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
