import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { VmFailure } from './failures.mjs';

/**
 * The working tree as it is now, with `dist/` and without `node_modules/`, and the command to run, as one tar. It becomes the second
 * disk byte for byte: the machine unpacks the device, so no file system has to be made for it.
 */
export async function packTree({ repository, command, workFolder, signal }) {
  await writeFile(join(workFolder, '.vm-command'), `exec ${command.map(shellQuote).join(' ')}\n`);
  const archive = join(workFolder, 'tree.tar');
  const left = ['.git', 'node_modules', '.hotcell', 'coverage'].map((name) => `--exclude=./${name}`);
  const options = ['--exclude-caches-all', '--owner=0', '--group=0', '--mode=a+rX', '--anchored', ...left];
  await runTar(['-cf', archive, ...options, '-C', workFolder, '.vm-command', '-C', repository, '.'], signal);
  return archive;
}

function runTar(args, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn('tar', args, { stdio: ['ignore', 'ignore', 'pipe'], signal });
    let complaints = '';
    child.stderr.on('data', (chunk) => {
      complaints += chunk;
    });
    child.on('error', reject);
    child.on('close', (exitCode) => {
      // 1 means that a file changed while it was read, which an editor or another test may do at any time.
      if (exitCode === 0 || exitCode === 1) resolve();
      else reject(new VmFailure('tar could not pack the tree', complaints));
    });
  });
}

function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
