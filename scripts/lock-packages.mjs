import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { root } from './dependencies.mjs';

const folder = join(root, 'images/python');

/**
 * Writes requirements.txt, the lock of the packages that standard.json names, and uv.txt, the lock of the uv that
 * installs them. Versions that are locked stay unless `--upgrade` is given. Needs uv on the PATH.
 */
function lock(upgrade) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'standard.json'), 'utf8'));
  const names = Object.values(packages).flatMap((group) => Object.keys(group));
  compile(names, 'requirements.txt', upgrade);
  compile(['uv'], 'uv.txt', upgrade);
}

function compile(names, file, upgrade) {
  const path = join(folder, file);
  const options = [
    ...['--python-version', '3.11', '--python-platform', 'linux', '--only-binary', ':all:'],
    ...['--generate-hashes', '--no-annotate', '--no-header', '--output-file', path],
    ...(upgrade ? ['--upgrade'] : []),
  ];
  execFileSync('uv', ['pip', 'compile', '--quiet', '-', ...options], {
    input: names.join('\n'),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  writeFileSync(path, `${HEADER}${readFileSync(path, 'utf8')}`);
}

const HEADER =
  '# Written by `npm run lock:packages` from standard.json: resolved for Python 3.11, and later Pythons install the same set.\n';

lock(argv.includes('--upgrade'));
