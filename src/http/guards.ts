import type { MiddlewareHandler } from 'hono';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { HttpEnvironment } from './environment.ts';
import type { Exposure } from './exposure.ts';

/** The first thing that every request meets: was it meant for this server, and may whoever sent it send it. */
export function guard(exposure: Exposure): MiddlewareHandler<HttpEnvironment> {
  return async ({ req }, next) => {
    const host = req.header('host');
    if (!exposure.allowsHost(host)) {
      throw forbidden(
        'this server is not known by the name in Host',
        'Use its address, or add the name to allowedHosts.',
      );
    }
    if (!exposure.allowsOrigin(req.header('origin'), host)) {
      throw forbidden('pages of that origin may not call this server', 'Call it from a program, not from a page.');
    }
    // SECURITY: behind a proxy that calls it by its loopback address, everybody would pass for somebody on this machine.
    if (!exposure.tokensRequired && FORWARDED.some((name) => req.header(name) !== undefined)) {
      throw forbidden(
        'a proxy stands before this server',
        'Name its public host in allowedHosts; then tokens are asked for.',
      );
    }
    await next();
  };
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** On every answer that has nothing to say about itself: no page may show, guess at, keep or read it. */
export const quietHeaders: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(QUIET)) {
    if (!context.res.headers.has(name)) context.res.headers.set(name, value);
  }
};

export const QUIET: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

function forbidden(message: string, remedy: string): HotcellError {
  return new HotcellError('forbidden', message, { remedy });
}
