import { createSecureContext, rootCertificates } from 'node:tls';
import { certificatesIn, SYSTEM_BUNDLES } from '../network/ca-bundle.ts';
import { NO_PROXY, readHostProxy } from '../network/host-proxy.ts';
import type { Reaching } from './dial.ts';
import { installerVariables } from './installer-variables.ts';

/**
 * The way of this host's installers to their registries: its proxy, and the certificates of their settings, of OpenSSL's
 * and Node's variables, and the system's.
 */
export async function hostReaching({
  certificates,
  insecureHosts = [],
}: {
  certificates?: string | undefined;
  insecureHosts?: readonly string[];
}): Promise<Reaching> {
  const env = installerVariables();
  const files = [certificates, env.SSL_CERT_FILE, env.NODE_EXTRA_CA_CERTS, ...SYSTEM_BUNDLES];
  const found = await Promise.all([...new Set(files)].map((file) => (file ? certificatesIn(file) : [])));
  const trust = createSecureContext({ ca: [...rootCertificates, ...found.flat()] });
  return { proxy: hostProxy(env), trust, insecureHosts };
}

/** A variable that is not the address of a proxy is the installers' to complain about. */
function hostProxy(env: NodeJS.ProcessEnv) {
  try {
    return readHostProxy(env);
  } catch {
    return NO_PROXY;
  }
}
