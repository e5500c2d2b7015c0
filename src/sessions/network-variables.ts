/** The listener of a session's proxy, HTTP and SOCKS5 on one port. */
export const PROXY = 'proxy';

/**
 * The environment variables of a session with a network, as the guest completes them: `{proxy}` is the port, `{ca}` the
 * path of the CA bundle, `{preload}` that of the preload for Node, `{before}` the value that a variable has otherwise.
 */
export function networkVariables(): Record<string, string> {
  return { ...proxyVariables(), ...CERTIFICATES, ...NODE, ...RETRIES };
}

/** Loopback stays inside of the sandbox: programs that a session starts there, and its forwards. */
const LOOPBACK = 'localhost,127.0.0.1,::1';

/**
 * In upper and lower case, because programs differ: curl takes `http_proxy` in lower case alone, others the upper case.
 * `ALL_PROXY` is the HTTP proxy as well: with a SOCKS URL there, some clients (httpx) fail unless a package is installed.
 */
function proxyVariables(): Record<string, string> {
  const address = `127.0.0.1:{${PROXY}}`;
  const url = `http://${address}`;
  const each = { HTTP_PROXY: url, HTTPS_PROXY: url, ALL_PROXY: url, NO_PROXY: LOOPBACK };
  const lower = Object.fromEntries(Object.entries(each).map(([name, value]) => [name.toLowerCase(), value]));
  return { ...each, ...lower, [OWN_VARIABLE]: address };
}

/** The variable for a program that knows no proxy variables; hints of the guest look for it, too. */
const OWN_VARIABLE = 'HOTCELL_PROXY';

/** Variables of OpenSSL (Python's ssl, uv, Go), requests, curl, git, pip, cargo, AWS and Deno, in this order. */
const CERTIFICATES: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'SSL_CERT_FILE',
    'REQUESTS_CA_BUNDLE',
    'CURL_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'PIP_CERT',
    'CARGO_HTTP_CAINFO',
    'AWS_CA_BUNDLE',
    'DENO_CERT',
  ].map((name) => [name, '{ca}']),
);

/** Node 24 and 22.21 use the proxy variables if they are told to; older ones need the preload. */
const NODE: Readonly<Record<string, string>> = {
  NODE_USE_ENV_PROXY: '1',
  NODE_EXTRA_CA_CERTS: '{ca}',
  NODE_OPTIONS: '{before} --require={preload}',
};

/** The defaults of installers, which fail at once in a session without a network (`standardEnvironment`). */
const RETRIES: Readonly<Record<string, string>> = {
  PIP_RETRIES: '5',
  UV_HTTP_RETRIES: '3',
  npm_config_fetch_retries: '2',
};
