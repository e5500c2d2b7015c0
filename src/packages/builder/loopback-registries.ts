import type { Registry } from '../../registries/registry.ts';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * Variables for a builder whose registries are on the host's own loopback, as a mirror on the same machine is: programs of a sandbox take loopback for their own and
 * pass the proxy by. None if the host adds a login to a registry, because that is served on the sandbox's loopback.
 */
export function loopbackVariables(registries: readonly Registry[]): Record<string, string> {
  const isOnLoopback = registries.some(({ url }) => LOOPBACK.test(new URL(url).hostname));
  const hasLogin = registries.some(({ login }) => login !== undefined);
  return isOnLoopback && !hasLogin ? { NO_PROXY: '', no_proxy: '' } : {};
}
