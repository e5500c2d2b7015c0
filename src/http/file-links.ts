import { filePath, parseFilePath } from '../artifacts/file-path.ts';
import { signedPath } from '../artifacts/signed-url.ts';
import { trimEndOf } from '../lib/trim-end.ts';

/** Makes addresses at which a browser or `curl` gets one file, without a token, for a while. */
export interface LinkMaker {
  /**
   * `uniqueId`: of the session, in the server; `shownAs`: what the address calls it, in place of that. Undefined for a name that cannot stand in an address.
   */
  linkTo(owner: string, uniqueId: string, path: string, shownAs?: string): string | undefined;
}

export interface LinkOptions {
  readonly key: Buffer;
  /** What links begin with: `http://127.0.0.1:7878`. */
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
