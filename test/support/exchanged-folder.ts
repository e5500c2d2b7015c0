import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that may be mounted, exchanged all the time for a link to one that may not. */
export interface ExchangedFolder {
  /** What may be mounted lies below it. */
  readonly root: string;
  /** Leads to the folder with the file `allowed`, or to the one with the file `secret`. */
  readonly source: string;
  readonly secret: string;
  stop(): Promise<void>;
}

export async function exchangeFolder(): Promise<ExchangedFolder> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'hotcell-exchange-')));
  const [root, secret] = [join(folder, 'root'), join(folder, 'outside')];
  const [source, link] = [join(root, 'project', 'sub'), join(root, 'project', 'link')];
  await mkdir(source, { recursive: true });
  await mkdir(secret);
  await writeFile(join(source, 'allowed'), '');
  await writeFile(join(secret, 'secret'), '');
  await symlink(secret, link);
  for (const path of [folder, root, join(root, 'project'), source, secret]) await chmod(path, 0o777);
  const child = spawn('python3', [join(import.meta.dirname, 'exchange_folders.py'), source, link], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(child.stdout!, 'data');
  return { root, source, secret, stop: () => stop(child, folder) };
}

async function stop(child: ChildProcess, folder: string): Promise<void> {
  const exited = child.exitCode ?? once(child, 'exit');
  child.stdin?.end();
  await exited;
  await rm(folder, { recursive: true, force: true });
}
