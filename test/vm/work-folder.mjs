import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder for one run, in the cache; first removes those whose owner was killed before it could. */
export async function openWorkFolder(cacheFolder, { keep }) {
  await mkdir(cacheFolder, { recursive: true });
  // Backup programs and our own tar skip a folder that holds this file.
  await writeFile(join(cacheFolder, 'CACHEDIR.TAG'), 'Signature: 8a477f597d28d172789f06886806bc55\n');
  await sweep(cacheFolder);
  const path = join(cacheFolder, `run-${process.pid}`);
  await rm(path, { recursive: true, force: true });
  await mkdir(path);
  return {
    path,
    async [Symbol.asyncDispose]() {
      if (!keep) await rm(path, { recursive: true, force: true });
    },
  };
}

async function sweep(cacheFolder) {
  for (const name of await readdir(cacheFolder)) {
    const owner = /^(?:run|image-\w+\.building)-(\d+)$/.exec(name)?.[1];
    if (owner && !isAlive(Number(owner))) await rm(join(cacheFolder, name), { recursive: true, force: true });
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
