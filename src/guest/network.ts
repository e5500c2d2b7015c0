import { HotcellError } from '../errors/hotcell-error.ts';
import type { GuestConnection } from './connection.ts';
import { networkReply } from './messages.ts';
import { rethrowAsOurs } from './refusals.ts';

/**
 * The network of a sandbox as its programs find it (docs/guest-protocol.md, section 10a). It replaces the one before:
 * only these listeners are open, and only these variables are set. An empty one closes the network.
 */
export interface GuestNetwork {
  readonly listen: readonly GuestListener[];
  /**
   * Environment variables of executions and commands that begin later. In their values, `{name}` is the port of a
   * listener, `{ca}` the path of the CA bundle, `{preload}` the path of a script that makes Node use the proxy
   * (`--require`), and `{before}` the value of the variable without a network, which may be empty.
   */
  readonly variables: Readonly<Record<string, string>>;
  /** CA certificates in PEM, at most `MAX_CA_BUNDLE_BYTES`. */
  readonly caBundle?: Buffer | undefined;
}

/**
 * A port on 127.0.0.1 of the sandbox. `proxy`: HTTP (CONNECT and plain) and SOCKS5, as calls of `network.connect` and
 * `network.http`. `forward`: bytes, as `network.forward {name}`. `credentials`: HTTP, as `network.credentials`.
 */
export interface GuestListener {
  /**
   * Lower-case letters, digits, `-` and `_`, at most 64; none of `RESERVED_LISTENER_NAMES`. The port stays the same
   * while the sandbox lives.
   */
  readonly name: string;
  readonly kind: 'proxy' | 'forward' | 'credentials';
}

/** The ports by the names of the listeners. SECURITY: said by the guest, which may be hostile: for display alone. */
export type GuestPorts = Readonly<Record<string, number>>;

export const MAX_CA_BUNDLE_BYTES = 1_048_576;
/** Names that mean something else in the values of variables. */
export const RESERVED_LISTENER_NAMES: readonly string[] = ['ca', 'preload', 'before'];
const LISTENER_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const MAX_LISTENERS = 64;

/** Resolves when the listeners are open and the variables are set for whatever begins from now on. Idempotent. */
export async function setGuestNetwork(
  connection: Pick<GuestConnection, 'request'>,
  { listen, variables, caBundle }: GuestNetwork,
): Promise<GuestPorts> {
  requireUsable(listen, caBundle);
  const { result } = await connection
    .request({ type: 'network', listen, variables }, networkReply, { body: caBundle })
    .catch(rethrowAsOurs);
  return result.ports;
}

function requireUsable(listen: readonly GuestListener[], caBundle: Buffer | undefined): void {
  const names = listen.map(({ name }) => name);
  const bad = names.find((name) => !LISTENER_NAME.test(name) || RESERVED_LISTENER_NAMES.includes(name));
  if (bad !== undefined) throw new HotcellError('invalid_argument', `${JSON.stringify(bad)} cannot name a listener`);
  if (new Set(names).size < names.length || names.length > MAX_LISTENERS)
    throw new HotcellError(
      'invalid_argument',
      `listeners have different names, and there are at most ${MAX_LISTENERS}`,
    );
  if ((caBundle?.length ?? 0) > MAX_CA_BUNDLE_BYTES)
    throw new HotcellError('invalid_argument', `the CA bundle has more than ${MAX_CA_BUNDLE_BYTES} bytes`);
}
