import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Config } from '../../config/schema.ts';
import type { ExecutionPolicy } from '../../execution/execution.ts';
import type { RegistryHost } from '../../network/contract.ts';
import type { Reach } from '../../network/open-socket.ts';
import { variableOf } from '../../network/upstreams/listeners.ts';
import type { Login } from '../../registries/registry.ts';
import type { Limits } from '../../sandbox/spec.ts';
import type { LiveSessions } from '../../sessions/live-sessions.ts';
import { createNetworking } from '../../sessions/networking.ts';
import { createSession } from '../../sessions/session.ts';
import { type Builder, builderOf } from './builder.ts';
import type { BuilderNetwork, OpenBuilder } from './open-builder.ts';

export interface BuilderOptions {
  readonly live: Pick<LiveSessions, 'open'>;
  readonly config: Config;
  readonly policy: () => ExecutionPolicy;
  /** The environment of the host, as far as it is about the network. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly reach: Partial<Reach> | undefined;
  readonly limits: Partial<Limits>;
  /** The time that one step may take. */
  readonly timeoutMs: number;
}

const FOLDERS = '/registry';

/** Opens builders as sessions that no caller sees. */
export function createOpenBuilder(options: BuilderOptions): OpenBuilder {
  const { live, config, policy, limits, timeoutMs } = options;
  return async (wanted, signal) => {
    const folders = [...new Set(wanted.folders)].filter((folder) => existsSync(folder));
    const placeOf = (folder: string) =>
      folders.includes(folder) ? `${FOLDERS}/${folders.indexOf(folder)}` : undefined;
    const logins = loginsOf(wanted.network);
    const core = await live.open(
      {
        owner: builderOwner(wanted.owner),
        isolation: wanted.driver,
        ...(wanted.image === undefined ? {} : { image: wanted.image }),
        limits,
        preloads: [],
        environment: {},
        ...(signal === undefined ? {} : { signal }),
      },
      {
        isBuilder: true,
        networking: builderNetworking(options, wanted.network, logins),
        folders: folders.map((source) => ({ source, target: placeOf(source)! })),
      },
    );
    const session = createSession(core, { policy: policy(), recordBytes: config.recordBytes });
    const builder = builderOf(session, { timeoutMs, signal });
    try {
      const addresses = await addressesIn(builder, logins);
      return {
        builder,
        addressOf: ({ url }) => {
          const origin = new URL(url).origin;
          const address = addresses.get(origin);
          return address === undefined ? url : `${address}${url.slice(origin.length)}`;
        },
        originalOf: (url) => {
          const [origin, address] = [...addresses].find(([, own]) => url.startsWith(`${own}/`)) ?? [];
          return address === undefined ? url : `${origin}${url.slice(address.length)}`;
        },
        placeOf,
        [Symbol.asyncDispose]: () => builder[Symbol.asyncDispose](),
      };
    } catch (error) {
      await builder[Symbol.asyncDispose]();
      throw error;
    }
  };
}

/** SECURITY: another owner than the session's, so that they share nothing, not even the zygote that both would be forked from. */
function builderOwner(owner: string): string {
  return `packages-${createHash('sha256').update(owner).digest('hex').slice(0, 16)}`;
}

interface NamedLogin {
  readonly name: string;
  readonly origin: string;
  readonly login: Login;
}

/** One credential for each server: a registry's pages and files are often below different paths of it. */
function loginsOf(network: BuilderNetwork | undefined): NamedLogin[] {
  const byOrigin = new Map<string, Login>();
  for (const { url, login } of network?.logins ?? [])
    if (login !== undefined && !byOrigin.has(new URL(url).origin)) byOrigin.set(new URL(url).origin, login);
  return [...byOrigin].map(([origin, login], index) => ({ name: `registry-${index + 1}`, origin, login }));
}

/**
 * The network of one builder: the registries and nothing else, with the logins of the host as credentials. It has no part of the operator's ceiling, which is about
 * code of sessions, and none of the operator's services.
 */
function builderNetworking(
  { config, environment, reach }: BuilderOptions,
  network: BuilderNetwork | undefined,
  logins: readonly NamedLogin[],
) {
  const setting = network === undefined ? ['none'] : ['registries'];
  const credentials = Object.fromEntries(
    logins.map(({ name, origin, login }) => [
      name,
      {
        url: `${origin}/`,
        secret: { env: variableOf(name) },
        header: 'Authorization',
        ...schemeOf(login),
        links: true,
        // SECURITY: build scripts use it as well. With any other method they would publish packages in the name of the host's user.
        readOnly: true,
      },
    ]),
  );
  return createNetworking({
    config: { ...config, network: setting, sessionNetwork: setting, forwards: {}, credentials },
    environment,
    secrets: Object.fromEntries(logins.map(({ name, login }) => [variableOf(name), secretOf(login)])),
    methods: [],
    registryHosts: async (): Promise<RegistryHost[]> => [...(network?.hosts ?? [])],
    reach,
  });
}

function schemeOf(login: Login) {
  return 'token' in login
    ? { scheme: 'Bearer' as const, user: '' }
    : { scheme: 'Basic' as const, user: login.username };
}

function secretOf(login: Login): string {
  return 'token' in login ? login.token : login.password;
}

/** The addresses of the credentials inside, by the server that each belongs to. */
async function addressesIn(builder: Builder, logins: readonly NamedLogin[]): Promise<ReadonlyMap<string, string>> {
  if (logins.length === 0) return new Map();
  const program = 'import os; print("\\n".join(os.environ.get(name, "") for name in %s))';
  const names = JSON.stringify(logins.map(({ name }) => variableOf(name)));
  const found = (await builder.ask(program.replace('%s', names))).trim().split('\n');
  return new Map(logins.map(({ origin }, index) => [origin, found[index] ?? '']));
}
