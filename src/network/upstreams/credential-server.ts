import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { Connected, Connections } from '../connections.ts';
import { createHttpClients, type HttpClient, type HttpClients } from '../http-clients.ts';
import { exchange, type ResponseFilter } from '../http-exchange.ts';
import { say, sayFailed, sayRefused } from '../http-replies.ts';
import { valuesOf } from '../proxy-request.ts';
import { type CredentialRequest, locationFor, splitName, targetOf, withSecret } from './credential-request.ts';
import { formsOf, maskedText, maskStream } from './masked.ts';
import { clientOf, isPage, type LinkedThrough, linkStream } from './page-links.ts';
import type { ReadSecret } from './secret.ts';
import type { Credential } from './upstream.ts';

export interface CredentialServerOptions {
  readonly credentials: Readonly<Record<string, Credential>>;
  readonly readSecret: ReadSecret;
  /** The certificates that upstream servers are checked with. */
  readonly secureContext: SecureContext;
  /** Called if a secret cannot be read. The text names no secret. */
  readonly onUnreadable: (name: string, why: string) => void;
}

/**
 * Serves `/<name>/…` as the server that a credential belongs to, with its secret added. The client is in the sandbox: it never sees the secret, neither in
 * the request nor in the reply. Redirects are not followed, so that the secret goes to no other host.
 */
export function createCredentialServer(connections: Connections, options: CredentialServerOptions): HttpClients {
  return createHttpClients(connections, (client, incoming, outgoing) =>
    answer({ connections, options, client }, incoming, outgoing),
  );
}

interface Around {
  readonly connections: Connections;
  readonly options: CredentialServerOptions;
  readonly client: HttpClient;
}

async function answer(around: Around, incoming: IncomingMessage, outgoing: ServerResponse) {
  const { connections, options, client } = around;
  const { credentials, readSecret, onUnreadable } = options;
  const split = splitName(incoming.url ?? '');
  const credential = split && Object.hasOwn(credentials, split.name) ? credentials[split.name] : undefined;
  if (split === undefined || credential === undefined)
    return say(outgoing, 404, 'This session has no such credential.');
  const { name, rest } = split;
  const { gone: signal } = client;
  const secret = await readSecret(credential.secret, { signal }).catch((error: Error) => {
    onUnreadable(name, error.message);
    return undefined;
  });
  if (secret === undefined) return say(outgoing, 502, `The secret of ${name} cannot be read on the host.`);
  const { method = 'GET', url = '', rawHeaders } = incoming;
  const made: CredentialRequest = withSecret({ method, url, rawHeaders }, rest, credential, secret);
  if (made.kind === 'refused') return say(outgoing, 400, made.why);
  // SECURITY: by a tunnel, so that a proxy of the host reads neither the secret nor the request that carries it.
  const opening = await connections.connect(targetOf(credential), 'tunnel', { signal, isCarried: false });
  if (opening.kind === 'refused') return sayRefused(outgoing, opening.refusal);
  if (opening.kind === 'failed') return sayFailed(outgoing, opening.failure);
  const { connected } = opening;
  try {
    const secured = isSecure(credential) ? await secure(connected, { ...around, signal }) : undefined;
    const own = credential.links ? clientOf(incoming.headers.host) : undefined;
    const filter = filterFor({ name, credential, client: own, forms: formsOf(secret, credential.user) });
    await exchange(
      { connections, connected, request: made.request, client, filter, ...(secured && { secured }) },
      incoming,
      outgoing,
    );
  } catch {
    say(outgoing, 502, `No secure connection to the server of ${name}.`);
  } finally {
    connected.end('broken');
  }
}

function isSecure({ url }: Credential): boolean {
  return url.startsWith('https:');
}

/** Rejects if the server's certificate is not for this host, if it takes too long, or if the client has gone. */
function secure(
  { socket, target, onStop }: Connected,
  { connections, options, signal }: Around & { signal: AbortSignal },
): Promise<TLSSocket> {
  const { secureContext } = options;
  const { clock, limits } = connections.options;
  const abort = () => socket.destroy();
  const cancel = clock.after(limits.connectMs, abort);
  onStop(abort);
  signal.addEventListener('abort', abort, { once: true });
  return new Promise<TLSSocket>((resolve, reject) => {
    const secured = connectTls({
      socket,
      ALPNProtocols: ['http/1.1'],
      ...(target.isAddress ? { host: target.host } : { servername: target.host }),
      secureContext,
    });
    secured.once('secureConnect', () => resolve(secured));
    secured.on('error', reject).once('close', () => reject(new Error('the connection was closed')));
  }).finally(() => {
    cancel();
    signal.removeEventListener('abort', abort);
  });
}

interface Filtering {
  readonly name: string;
  readonly credential: Credential;
  /** The address of the client's listener, if links of pages are to lead there. */
  readonly client: string | undefined;
  readonly forms: readonly string[];
}

/** A response for the client: without the secret, and without a cookie that would stand for it on the same server. */
function filterFor({ name, credential, client, forms }: Filtering): ResponseFilter {
  let through: LinkedThrough | undefined;
  return {
    headers: (raw, answer) => {
      if (isEncoded(answer)) return undefined;
      const pairs = raw.flatMap((header, at) => (at % 2 === 0 ? [[header, raw[at + 1]!] as const] : []));
      const isNamed = (header: string, name: string) => header.toLowerCase() === name;
      const type = pairs.find(([header]) => isNamed(header, 'content-type'))?.[1];
      through = client !== undefined && isPage(type) ? { name, client } : undefined;
      const passed = pairs.filter(
        ([header]) => !isNamed(header, 'set-cookie') && (through === undefined || !isNamed(header, 'content-length')),
      );
      return passed.flatMap(([header, value]) => {
        const own = isNamed(header, 'location') ? locationFor(value, name, credential) : value;
        return [maskedText(header, forms), maskedText(own, forms)];
      });
    },
    body: () => (through === undefined ? maskStream(forms) : linkStream(credential, through, forms)),
  };
}

const PARTIAL_CONTENT = 206;

/** SECURITY: a reply that is encoded, or only a part, was not asked for, and the secret in it could not be found. */
function isEncoded({ rawHeaders, statusCode }: Pick<IncomingMessage, 'rawHeaders' | 'statusCode'>): boolean {
  const isOther = (header: string, plain: string) =>
    valuesOf(rawHeaders, header).some((value) => value.trim().toLowerCase() !== plain);
  return (
    statusCode === PARTIAL_CONTENT || isOther('content-encoding', 'identity') || isOther('transfer-encoding', 'chunked')
  );
}
