import { type IncomingMessage, request } from 'node:http';
import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import { dial, type Reaching } from './dial.ts';
import { authorizationOf, type Registry } from './registry.ts';

export interface Page {
  /** The addresses that led to it, redirects included; the last one is its own. */
  readonly urls: readonly string[];
  readonly text: string;
  /** Whether the registry was reached at an address of the host's own network. */
  readonly isPrivate: boolean;
}

const LARGEST_PAGE_BYTES = 4_000_000;
const MOST_REDIRECTS = 4;
const ACCEPT = 'application/vnd.pypi.simple.v1+json, application/json;q=0.9, text/html;q=0.5, */*;q=0.1';

/**
 * Reads a page of a registry through the host's proxy and with its certificates, which Node's `fetch` knows nothing of. Of a large page only the beginning is
 * read. Undefined if there is no such page. Rejects if the registry cannot be reached.
 */
export async function fetchPage(
  registry: Registry,
  path: string,
  reaching: Reaching,
  signal: AbortSignal,
): Promise<Page | undefined> {
  const url = new URL(path, registry.url.endsWith('/') ? registry.url : `${registry.url}/`);
  const found = await get({ registry, url, reaching, signal });
  if (found === undefined) return undefined;
  const text = (await readAtMost(found.reply, LARGEST_PAGE_BYTES)).toString('utf8');
  return { urls: found.urls, text, isPrivate: found.isPrivate };
}

/** Reads a file that a page of the registry links to. Undefined if there is none, or if it is larger. `isPrivate` is that of the page. */
export async function fetchFile(
  { registry, url, isPrivate }: { registry: Registry; url: string; isPrivate: boolean },
  mostBytes: number,
  reaching: Reaching,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  const found = await get({ registry, url: new URL(url), isPrivate, reaching, signal });
  if (found === undefined) return undefined;
  const content = await readAtMost(found.reply, mostBytes + 1);
  return content.length > mostBytes ? undefined : content;
}

interface Getting extends Sending {
  readonly registry: Registry;
  readonly url: URL;
  /** Whether the registry is known to be in the host's own network. */
  readonly isPrivate?: boolean;
}

interface Got {
  readonly urls: string[];
  readonly reply: IncomingMessage;
  readonly isPrivate: boolean;
}

async function get(getting: Getting): Promise<Got | undefined> {
  const { registry } = getting;
  const urls: string[] = [];
  let { url, isPrivate = false } = getting;
  while (urls.length <= MOST_REDIRECTS && (url.protocol === 'https:' || url.protocol === 'http:')) {
    urls.push(url.href);
    const isOwn = url.origin === new URL(registry.url).origin;
    // SECURITY: the login is for the registry's own origin. A link or a redirect to another one goes without.
    const login = isOwn ? registry.login : undefined;
    const authorization: Record<string, string> = login === undefined ? {} : { authorization: authorizationOf(login) };
    // SECURITY: nor does one lead to the host's own network, unless the registry itself is there.
    const { reply, ...reached } = await send(url, authorization, { ...getting, mayBePrivate: isOwn || isPrivate });
    if (isOwn) isPrivate = reached.isPrivate;
    const { statusCode = 0, headers } = reply;
    if (statusCode === 200) return { urls, reply, isPrivate };
    reply.destroy();
    if (statusCode < 300 || statusCode >= 400 || !URL.canParse(headers.location ?? '', url.href)) return undefined;
    url = new URL(headers.location!, url);
  }
  return undefined;
}

interface Sending {
  readonly reaching: Reaching;
  readonly signal: AbortSignal;
}

async function send(
  url: URL,
  headers: Record<string, string>,
  sending: Sending & { mayBePrivate: boolean },
): Promise<{ reply: IncomingMessage; isPrivate: boolean }> {
  const { socket, absolute, extra, isPrivate } = await dial(url, sending);
  const asking = request({
    path: absolute ? url.href : `${url.pathname}${url.search}`,
    headers: {
      host: url.host,
      accept: ACCEPT,
      'accept-encoding': 'identity',
      connection: 'close',
      ...headers,
      ...extra,
    },
    createConnection: () => socket,
    signal: sending.signal,
  });
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    // SECURITY: Node closes the connection of a server that changes the protocol (101), without an error. Who waits for the answer would wait for ever.
    const fail = () => reject(new Error('the registry did not answer'));
    asking.once('response', resolve).once('upgrade', (_, upgraded) => {
      upgraded.destroy();
      fail();
    });
    asking.once('close', fail).on('error', reject).end();
  });
  return { reply, isPrivate };
}

/** SECURITY: a server that sends its page byte by byte would make the host hold a hundred times its size. */
async function readAtMost(reply: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const gathered = createGatheredBytes();
  for await (const part of reply as AsyncIterable<Buffer>) {
    gathered.push(part);
    if (gathered.length() >= mostBytes) break; // leaving the loop destroys the reply
  }
  return Buffer.concat(gathered.take()).subarray(0, mostBytes);
}
