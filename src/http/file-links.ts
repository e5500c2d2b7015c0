import { filePath, parseFilePath } from '../artifacts/file-path.ts';
import { signedPath } from '../artifacts/signed-url.ts';

/** Makes addresses at which a browser or `curl` gets one file, without a token, for a while. */
export interface LinkMaker {
  /** `sessionId`: unique in the server. Undefined for a name that cannot stand in an address. */
  linkTo(owner: string, sessionId: string, path: string): string | undefined;
}

export interface LinkOptions {
  readonly key: Buffer;
  /** What links begin with: `http://127.0.0.1:7878`. */
  readonly baseUrl: string;
  readonly lifetimeMs: number;
  readonly now?: () => number;
}

export function createLinkMaker({ key, baseUrl, lifetimeMs, now = Date.now }: LinkOptions): LinkMaker {
  const base = baseUrl.replace(/\/+$/, '');
  return {
    linkTo: (owner, session, path) => {
      if (/\p{Cs}/u.test(path) || parseFilePath(filePath({ session, path }))?.path !== path) return undefined;
      const expires = Math.ceil((now() + lifetimeMs) / 1000);
      return base + signedPath(key, { owner, session, path, expires });
    },
  };
}
