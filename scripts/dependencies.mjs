import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

export const root = new URL('..', import.meta.url).pathname;

/** Installs the packages of package-lock.json if needed. Plain Node, because no package is installed yet. */
export function ensureDependencies() {
  requireNode();
  if (isInstalled()) return undefined;
  const begin = performance.now();
  process.stderr.write('- Dependencies …\n');
  // `npm ci` refuses a lock file without another platform's optional packages, which some registries do not carry.
  for (const how of [['ci'], ['install', '--no-save']]) {
    const { status, stderr } = spawnSync('npm', [...how, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      shell: process.platform === 'win32',
    });
    if (status === 0) return performance.now() - begin;
    if (how[0] !== 'ci') process.stderr.write(stderr ?? '');
  }
  process.stderr.write('✗ Dependencies\n  Run:\n    npm install\n');
  process.exit(1);
}

/** Whether npm's marker, which it writes at the end of an installation, is newer than the lock file. */
function isInstalled() {
  const marker = join(root, 'node_modules', '.package-lock.json');
  return existsSync(marker) && statSync(marker).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs;
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  process.stderr.write(`✗ Hotcell needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
