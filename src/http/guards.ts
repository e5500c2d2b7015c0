import type { MiddlewareHandler } from 'hono';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { HttpEnvironment } from './environment.ts';
import type { Exposure } from './exposure.ts';

/** The first check of every request: whether it is meant for this server, and whether its sender may send it. */
export function guard(exposure: Exposure): MiddlewareHandler<HttpEnvironment> {
  return async ({ req }, next) => {
    const host = req.header('host');
    if (!exposure.allowsHost(host)) {
      throw forbidden(
        'the Host header is not a name of this server',
        'Use its address, or add the name to allowedHosts.',
      );
    }
    if (!exposure.allowsOrigin(req.header('origin'), host)) {
      throw forbidden('pages of that origin may not call this server', 'Call it from a program, not from a page.');
    }
    // SECURITY: behind a proxy on this machine, every client would have a loopback address and pass for a local one.
    if (!exposure.tokensRequired && FORWARDED.some((name) => req.header(name) !== undefined)) {
      throw forbidden(
        'this server is behind a proxy, and requires no tokens',
        'Add its public host name to allowedHosts; tokens are then required.',
      );
    }
    await next();
  };
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** Default headers of responses: no page may embed, sniff, cache or read them. */
export const defaultHeaders: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(DEFAULT_HEADERS)) {
    if (!context.res.headers.has(name)) context.res.headers.set(name, value);
  }
};

export const DEFAULT_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

function forbidden(message: string, remedy: string): HotcellError {
  return new HotcellError('forbidden', message, { remedy });
}
