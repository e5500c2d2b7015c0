import { mediaTypeOf } from '../lib/media-type.ts';

/** What a browser shows without running anything in it. Not SVG, not HTML, not PDF: those are programs. */
const INERT = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'text/plain']);

/**
 * How a file of a sandbox is handed to a browser. SECURITY: its content and its name are a stranger's. It is kept, not shown, but for a few kinds that cannot
 * do anything; it is what we say it is, and should it be shown after all, it is in a sandbox without scripts, forms or our origin.
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

/** The name twice: in plain characters for old programs, and as it is (RFC 6266). Neither can end the header or begin another. */
function filenameOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9 ._()-]/g, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${exact}`;
}
