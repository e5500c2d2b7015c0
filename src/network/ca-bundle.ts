import { readFile } from 'node:fs/promises';
import { rootCertificates } from 'node:tls';
import { absolutePath } from '../lib/user-folders.ts';

/** Files in which distributions keep the certificates that they trust: Debian, Fedora, openSUSE, Alpine and macOS, RHEL. */
export const SYSTEM_BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
];

/**
 * The certificates that the host trusts, in PEM: of `SSL_CERT_FILE`, else of the distribution, else those that Node has;
 * and those of `NODE_EXTRA_CA_CERTS`. At most `mostBytes` of them. Read anew each time, because an administrator may change them.
 */
export async function readCaBundle(
  environment: Readonly<Record<string, string | undefined>>,
  { mostBytes, bundles = SYSTEM_BUNDLES }: { mostBytes: number; bundles?: readonly string[] },
): Promise<Buffer> {
  const { SSL_CERT_FILE: own, NODE_EXTRA_CA_CERTS: extra } = environment;
  const usual = await firstWith([...(own ? [own] : []), ...bundles]);
  const added = extra ? await certificatesIn(extra) : [];
  const all = usual.length > 0 ? usual : rootCertificates;
  return Buffer.from(
    fitting([...new Set([...added, ...all])], mostBytes)
      .join('\n')
      .concat('\n'),
  );
}

/** The host's own additions stand first, so that they are never among those that do not fit. */
function fitting(certificates: readonly string[], mostBytes: number): string[] {
  let bytes = 1;
  return certificates.filter(({ length }) => {
    bytes += length + 1;
    return bytes <= mostBytes;
  });
}

async function firstWith(paths: readonly string[]): Promise<string[]> {
  for (const path of paths) {
    const found = await certificatesIn(path);
    if (found.length > 0) return found;
  }
  return [];
}

/**
 * The certificates of a file; none if it cannot be read, or if its path is relative (`user-folders.ts`). SECURITY:
 * certificates alone. A file of the operator's may hold a private key beside them.
 */
export async function certificatesIn(path: string): Promise<string[]> {
  const text = absolutePath(path) === undefined ? '' : await readFile(path, 'latin1').catch(() => '');
  return text.match(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g) ?? [];
}
