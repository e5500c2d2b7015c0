import { Transform } from 'node:stream';
import { createMasker } from './masked.ts';
import type { Credential } from './upstream.ts';

/** The address at which the client reaches the server of a credential. */
export interface LinkedThrough {
  readonly name: string;
  /** `127.0.0.1:<port>`, as the client's request has it. */
  readonly client: string;
}

/** The longest part of a page without a tag, a line break or the beginning of a string in JSON. */
const LONGEST_UNCUT = 1_048_576;

/** Whether the links of a response are changed: a page of HTML, or JSON. */
export function isPage(contentType: string | undefined): boolean {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type === 'text/html' || type === 'application/json') return true;
  return type.startsWith('application/') && (type.endsWith('+json') || type.includes('npm'));
}

/** The client's address, or undefined if it is not one of a listener on its loopback: it is written into pages. */
export function clientOf(host: string | undefined): string | undefined {
  return host !== undefined && /^127\.0\.0\.1:\d{1,5}$/.test(host) ? host : undefined;
}

/**
 * Changes the links of a page that lead to the credential's own server, whole or from its root, so that a client follows them with the secret. Links elsewhere stay
 * as they are.
 */
export function withOwnLinks(page: string, { url }: Pick<Credential, 'url'>, { name, client }: LinkedThrough): string {
  const { origin, pathname } = new URL(url);
  const prefix = pathname.replace(/\/$/, '');
  const own = `http://${client}/${name}`;
  // SECURITY: only below the credential's own path, as every request; the rest of the server gets no secret.
  const below = (path: string) => path === prefix || path.startsWith(`${prefix}/`);
  return page
    .replace(
      /(["'\s>])(https?:\/\/[^/"'\s<>]+)(\/[^"'\s<>]*)/g,
      (whole, before: string, server: string, path: string) =>
        server.toLowerCase() === origin && below(path) ? `${before}${own}${path.slice(prefix.length)}` : whole,
    )
    .replace(/((?:href|src)=["']?|"url"\s*:\s*")(\/[^/"'\s<>][^"'\s<>]*)/gi, (whole, before: string, path: string) =>
      below(path) ? `${before}${own}${path.slice(prefix.length)}` : whole,
    );
}

/**
 * The same for a response in pieces, whose length changes, with the secret masked. A page that has nowhere to be cut fails.
 *
 * SECURITY: links are changed piece by piece. A page of sixteen megabytes in one would hold them in memory, and take seconds in a turn of all sessions.
 */
export function linkStream(credential: Credential, through: LinkedThrough, forms: readonly string[]): Transform {
  const masker = createMasker(forms);
  // As Latin-1 every byte stays what it was.
  const changed = (text: string) => masker.push(Buffer.from(withOwnLinks(text, credential, through), 'latin1'));
  let held = '';
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const piece = chunk.toString('latin1');
      const at = cutIn(piece);
      if (at === undefined) {
        held += piece;
        return done(held.length > LONGEST_UNCUT ? new Error('the page cannot be cut') : null);
      }
      const whole = held + piece.slice(0, at);
      held = piece.slice(at);
      done(null, changed(whole));
    },
    flush(done) {
      this.push(changed(held));
      done(null, masker.rest());
    },
  });
}

/** Where a piece of a page can be cut, if anywhere: no link, and nothing by which one is found, is on both sides. */
function cutIn(piece: string): number | undefined {
  const [tag, line] = [piece.lastIndexOf('<'), piece.lastIndexOf('\n')];
  const string = Math.max(...[',"', '{"', '["'].map((text) => piece.lastIndexOf(text)));
  const at = Math.max(tag, line, string < 0 ? -1 : string + 1);
  return at < 0 ? undefined : at;
}
