import { type RequestOptions, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Target } from './contract.ts';
import { hostAndPort } from './host-name.ts';
import type { ProxyServer } from './host-proxy.ts';

/**
 * Asks a proxy of the host for a tunnel to the target (CONNECT). Rejects if the proxy cannot be reached or says no, with an error that says nothing of what the
 * proxy answered, or with the signal's reason; the socket is closed then.
 */
export async function openTunnel(
  proxy: ProxyServer,
  target: Target,
  { signal }: { signal: AbortSignal },
): Promise<Socket> {
  signal.throwIfAborted();
  const authority = hostAndPort(target);
  const asking = request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...proxyAuthorization(proxy) },
    createConnection: () => dialProxy(proxy),
  } satisfies RequestOptions);
  const abort = () => asking.destroy();
  signal.addEventListener('abort', abort, { once: true });
  return await new Promise<Socket>((resolve, reject) => {
    asking.once('connect', ({ statusCode }, socket, head) => {
      if (statusCode !== 200) {
        socket.on('error', () => undefined).destroy();
        return reject(new Error('the proxy refused the connection'));
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
    // Anything but a tunnel, an HTML page for instance.
    asking.once('response', () => asking.destroy(new Error('the proxy did not open a tunnel')));
    asking.on('error', () => reject(signal.aborted ? signal.reason : new Error('the proxy cannot be reached')));
    asking.end();
  }).finally(() => signal.removeEventListener('abort', abort));
}

/** A socket to the proxy itself. It may not be connected yet. */
export function dialProxy({ host, port, secure }: ProxyServer): Socket {
  const options = { host, port, allowHalfOpen: true, noDelay: true };
  return secure ? connectTls({ ...options, servername: host }) : connect(options);
}

export function proxyAuthorization({ authorization }: ProxyServer): Record<string, string> {
  return authorization === undefined ? {} : { 'proxy-authorization': authorization };
}
