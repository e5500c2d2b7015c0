import { hostAndPort, parseHost } from '../network/host-name.ts';

const MOST_HOSTS = 16;
const MOST_SERVERS = 1000;

/**
 * The hosts that a page of an index links to, as `host` or `host:port`: PEP 503 (HTML), PEP 691 (JSON), or a version of a package of npm. Links within the index
 * itself, which most are, give its own host.
 */
export function linkedHosts(text: string, page: string): string[] {
  const hosts = new Set<string>();
  // SECURITY: a page has hundreds of thousands of links if its author likes, and parsing an address takes microseconds. Those to one server are parsed once.
  const known = new Set<string>();
  for (const link of linksIn(text)) {
    const server = serverOf(link);
    if (known.has(server)) continue;
    known.add(server);
    const host = hostOf(link, page);
    if (host !== undefined) hosts.add(host);
    if (hosts.size >= MOST_HOSTS || known.size >= MOST_SERVERS) break;
  }
  return [...hosts];
}

/** The beginning of a link that names its server, nothing if it leads to the page's own, or the whole link if only a parser can tell. */
function serverOf(link: string): string {
  if (/^[\w.~%+-]*(?:[/?#](?![/\\\s])|$)/.test(link)) return '';
  return /^https?:\/\/[^/?#\\\s]+(?=[/?#]|$)/i.exec(link)?.[0] ?? link;
}

/** The addresses in a page, as they are written there. */
export function linksIn(text: string): Iterable<string> {
  return jsonLinks(text) ?? htmlLinks(text);
}

/** A rule of a policy for the host of an address: with a port only if it is not the protocol's own. Undefined if it is not an address of http or https. */
export function hostOf(address: string, base?: string): string | undefined {
  if (!URL.canParse(address, base)) return undefined;
  const { protocol, hostname, port } = new URL(address, base);
  const parsed = protocol === 'https:' || protocol === 'http:' ? parseHost(hostname) : undefined;
  if (parsed === undefined || port === '0') return undefined;
  if (port !== '') return hostAndPort({ host: parsed.host, port: Number(port) });
  return parsed.host.includes(':') ? `[${parsed.host}]` : parsed.host;
}

/** Undefined if the text is not JSON. */
function jsonLinks(text: string): string[] | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const { files, dist } = JSON.parse(text) as { files?: unknown; dist?: unknown };
    return [...(Array.isArray(files) ? files.map((file) => textAt(file, 'url')) : []), textAt(dist, 'tarball')].filter(
      (link) => link !== undefined,
    );
  } catch {
    return [];
  }
}

function textAt(value: unknown, key: string): string | undefined {
  const found = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  return typeof found === 'string' ? found : undefined;
}

function* htmlLinks(text: string): Generator<string> {
  for (const [, quoted, bare] of text.matchAll(/\shref=(?:["']([^"'<>]{1,4000})["']|([^\s"'<>]{1,4000}))/gi))
    yield (quoted ?? bare!).replaceAll('&amp;', '&');
}
