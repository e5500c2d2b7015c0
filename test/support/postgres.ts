import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VERSIONS = '/usr/lib/postgresql';

/** Why PostgreSQL cannot be started here, or nothing. It refuses to run as root, so it needs the account of its package. */
export function reasonNoPostgres(): string | undefined {
  if (process.getuid?.() !== 0) return 'PostgreSQL is started as another user, which only root can';
  return programFolder() === undefined || account() === undefined ? 'PostgreSQL is not installed' : undefined;
}

/** A PostgreSQL of its own on a port of loopback, with the user `hotcell` and this password. */
export async function startPostgres(password: string, port: number): Promise<AsyncDisposable> {
  const [programs, { uid, gid }] = [programFolder()!, account()!];
  const folder = mkdtempSync(join(tmpdir(), 'hotcell-test-'));
  chownSync(folder, uid, gid);
  const options = { uid, gid, cwd: folder, env: { PATH: process.env.PATH, LANG: 'C.UTF-8' } };
  const [data, pass] = [join(folder, 'data'), join(folder, 'password')];
  writeFileSync(pass, `${password}\n`);
  execFileSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'hotcell', '--auth=scram-sha-256', `--pwfile=${pass}`, '--no-sync'],
    { ...options, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const listen = ['-p', String(port), '-h', '127.0.0.1', '-k', folder];
  const server = spawn(join(programs, 'postgres'), ['-D', data, ...listen, '-F'], {
    ...options,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  for await (const chunk of server.stderr.iterator({ destroyOnReturn: false })) {
    said += chunk;
    if (said.includes('ready to accept connections')) break;
  }
  server.stderr.resume();
  return {
    [Symbol.asyncDispose]: async () => {
      server.kill('SIGINT');
      if (server.exitCode === null) await once(server, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function programFolder(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  return readdirSync(VERSIONS)
    .map((version) => join(VERSIONS, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'initdb')));
}

function account(): { uid: number; gid: number } | undefined {
  const [, , uid, gid] = /^postgres:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0].split(':') ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
