import type { Upstreams } from './upstream.ts';

/** A listener on the sandbox's loopback (docs/guest-protocol.md, section 10), and the variables that name its address. */
export interface UpstreamListeners {
  readonly listen: readonly { readonly name: string; readonly kind: 'forward' | 'credentials' }[];
  readonly variables: Readonly<Record<string, string>>;
}

/** The listener that serves all credentials, and the beginning of the names of those for forwards. Names of services have no underscore. */
const CREDENTIALS = 'credentials_http';
const FORWARD = 'forward_';

/** The forward `db` is at `$HOTCELL_SERVICE_DB`, as `127.0.0.1:<port>`; the credential `github` at `$HOTCELL_SERVICE_GITHUB`, as a URL. */
export function upstreamListeners({ forwards, credentials }: Upstreams): UpstreamListeners {
  const [addresses, secrets] = [Object.keys(forwards), Object.keys(credentials)];
  return {
    listen: [
      ...addresses.map((name) => ({ name: `${FORWARD}${name}`, kind: 'forward' as const })),
      ...(secrets.length === 0 ? [] : [{ name: CREDENTIALS, kind: 'credentials' as const }]),
    ],
    variables: Object.fromEntries([
      ...addresses.map((name) => [variableOf(name), `127.0.0.1:{${FORWARD}${name}}`]),
      ...secrets.map((name) => [variableOf(name), `http://127.0.0.1:{${CREDENTIALS}}/${name}`]),
    ]),
  };
}

/** The forward of a listener, as a call of the guest names it. */
export function forwardOf(listener: string): string {
  return listener.startsWith(FORWARD) ? listener.slice(FORWARD.length) : '';
}

export function variableOf(name: string): string {
  return `HOTCELL_SERVICE_${name.toUpperCase().replaceAll('-', '_')}`;
}
