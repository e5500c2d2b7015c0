import { filePath, parseFilePath } from '../artifacts/file-path.ts';
import { signedPath } from '../artifacts/signed-url.ts';
import { trimEndOf } from '../lib/trim-end.ts';

/** Creates URLs at which a browser or `curl` gets one file, without a token, for a limited time. */
export interface LinkMaker {
  /**
   * `uniqueId`: the unique id of the session; `shownAs`: its name in the URL, if different. Undefined for a name that
   * cannot be part of a URL.
   */
  linkTo(owner: string, uniqueId: string, path: string, shownAs?: string): string | undefined;
}

export interface LinkOptions {
  readonly key: Buffer;
  /** The base of links: `http://127.0.0.1:7878`. */
  readonly baseUrl: string;
  readonly lifetimeMs: number;
  readonly now?: () => number;
}

export function createLinkMaker({ key, baseUrl, lifetimeMs, now = Date.now }: LinkOptions): LinkMaker {
  const base = trimEndOf(baseUrl, '/');
  return {
    linkTo: (owner, uniqueId, path, session = uniqueId) => {
      if (/\p{Cs}/u.test(path) || parseFilePath(filePath({ session, path }))?.path !== path) return undefined;
      const expires = Math.ceil((now() + lifetimeMs) / 1000);
      return base + signedPath(key, { owner, session, uniqueId, path, expires });
    },
  };
}
