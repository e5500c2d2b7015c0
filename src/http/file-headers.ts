import { mediaTypeOf } from '../lib/media-type.ts';

/** Media types that a browser shows without running anything. SVG, HTML and PDF can contain scripts. */
const INERT = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'text/plain']);

/**
 * The headers of a file of a sandbox. SECURITY: its content and its name are untrusted. It is downloaded, not shown,
 * except for a few inert types; its media type is fixed (`nosniff`), and if it is rendered anyway, then in a CSP
 * sandbox without scripts, forms or our origin.
 */
export function fileHeaders(path: string): Record<string, string> {
  const mediaType = mediaTypeOf(path);
  const name = path.slice(path.lastIndexOf('/') + 1);
  return {
    'content-type': mediaType.startsWith('text/') ? `${mediaType}; charset=utf-8` : mediaType,
    'content-disposition': `${INERT.has(mediaType) ? 'inline' : 'attachment'}; ${filenameOf(name)}`,
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
  };
}

/** The name twice: in ASCII for old programs, and unchanged (RFC 6266). Neither can end the header or start another. */
function filenameOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9 ._()-]/g, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${exact}`;
}
