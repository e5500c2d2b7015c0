import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { packageRoot } from '../../../src/lib/package-root.ts';
import { type Attempt, hasDefaultRoute, openHostListeners } from '../../support/host-listeners.ts';
import { type Context, type Requirement, stdoutOf } from '../context.ts';

const PROGRAM = readFileSync(join(packageRoot(), 'test', 'conformance', 'programs', 'reach_host.py'), 'utf8');

/** Addresses of the world: none is the host's, and the first two are where clouds keep credentials. */
const OUTSIDE = ['169.254.169.254', 'fd00:ec2::254', '198.51.100.1', '2001:db8::1', '255.255.255.255', '224.0.0.1'];
/** Whatever the host's interfaces are, its default route leads there. */
const ROUTED = ['169.254.169.254', '198.51.100.1'];
const ENGINE_SOCKETS = ['/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock'];

export const networkRequirements: readonly Requirement[] = [
  {
    id: 'network:closed',
    tag: 'driver',
    title:
      'TCP, UDP, ICMP, raw datagrams and DNS over IPv4 and IPv6 reach no address of the host, and no socket with an abstract name; the sandbox’s own loopback works',
    prove: async ({ fresh, target }) => {
      const session = await fresh();
      expect(await stdoutOf(session, `${PROGRAM}\nown_loopback_works()`)).toBe('works');
      await proveUnreachable(({ by }) => by !== 'unix', { session, target });
    },
  },
  {
    id: 'network:no-route',
    tag: 'driver',
    title: 'no packet leaves: there is no route to the world or to the metadata address of a cloud, and no interface',
    prove: async ({ fresh, target }) => {
      const session = await fresh();
      const routed = JSON.parse(
        await stdoutOf(session, `${PROGRAM}\nfind_routes(${JSON.stringify(['127.0.0.1', ...OUTSIDE])})`),
      ) as string[];
      if (target.bare === true) {
        // Connecting a datagram socket only asks for a route. More would send packets of a test into the world.
        expect(routed).toEqual(expect.arrayContaining(hasDefaultRoute() ? ROUTED : ['127.0.0.1']));
        return;
      }
      expect(routed, 'its own loopback and nothing else').toEqual(['127.0.0.1']);
      const left = await stdoutOf(session, `${PROGRAM}\nleave(${JSON.stringify(OUTSIDE)}, "example.com")`);
      expect(JSON.parse(left)).toEqual([]);
    },
  },
  {
    id: 'host:sockets',
    tag: 'driver',
    title: 'no Unix socket of the host can be reached, that of an engine included',
    prove: async ({ fresh, target }) => {
      const session = await fresh();
      await proveUnreachable(({ by }) => by === 'unix' || by === 'abstract', { session, target });
      if (target.bare === true) return;
      const found = `import os\nprint([path for path in ${JSON.stringify(ENGINE_SOCKETS)} if os.path.exists(path)])`;
      expect(await stdoutOf(session, found)).toBe('[]');
    },
  },
];

/** Without a barrier every attempt must get through, or that it fails with one proves nothing. What arrived is for the host to say. */
async function proveUnreachable(
  isTried: (attempt: Attempt) => boolean,
  { session, target }: Pick<Context, 'session' | 'target'>,
): Promise<void> {
  await using listeners = await openHostListeners();
  const attempts = listeners.attempts.filter(isTried);
  const answered = JSON.parse(await stdoutOf(session, reaching(attempts), 120_000)) as string[];
  if (target.bare === true) answered.push(...(await withPrivileges(attempts.filter(needsPrivileges))));
  const succeeded = () => {
    const got = new Set([...answered, ...listeners.arrived()]);
    return attempts.filter(({ nonce }) => got.has(nonce));
  };
  if (target.bare === true) await expect.poll(succeeded).toEqual(attempts);
  else expect(succeeded()).toEqual([]);
}

const reaching = (attempts: readonly Attempt[]) =>
  `${PROGRAM}\nreach_host(json.loads(${JSON.stringify(JSON.stringify(attempts))}))`;

const needsPrivileges = ({ by }: Attempt) => by === 'icmp' || by === 'raw-udp';

/** The guest drops its capabilities on the bare driver, too: that raw sockets would reach the listeners is shown by a plain Python. */
async function withPrivileges(attempts: readonly Attempt[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('python3', ['-c', reaching(attempts)]);
  return JSON.parse(stdout) as string[];
}
