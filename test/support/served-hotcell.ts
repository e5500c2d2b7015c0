import { rmSync } from 'node:fs';
import { type IncomingMessage, type RequestOptions, request as sendRequest } from 'node:http';
import { mcpServerFor } from '../../src/cli/serve/mcp-server-for.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Owner } from '../../src/directory/directory.ts';
import { anonymousOwner, tokenOwner } from '../../src/directory/owner.ts';
import { type ServeOptions, serveHttp } from '../../src/http/serve.ts';
import { openTokenStore, type TokenStore } from '../../src/http/tokens/store.ts';
import { type HotcellOptions, type HotcellServer, openServer } from '../../src/main.ts';
import { STRUCTURED_HEADER } from '../../src/mcp/present/result-meta.ts';
import { profileSetOf } from '../../src/mcp/profiles/index.ts';
import { longTools } from '../../src/mcp/server.ts';
import { TARGETS } from './targets.ts';
import { newTestHome } from './test-home.ts';

/** A server as `hotcell serve` starts it, in this process and in a data folder of its own. */
export interface ServedHotcell extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly home: string;
  readonly server: HotcellServer;
  readonly tokens: TokenStore;
  readonly nobody: Owner;
  ownerOf(tokenId: string): Owner;
  /** A request as it is given, without a library that would mend its path or its headers. */
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
}

export interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
  readonly token?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  json(): unknown;
}

export type TestOptions = HotcellOptions &
  Pick<ServeOptions, 'stallMs' | 'connectionLimits' | 'inFlightLimits' | 'isLocalCaller'>;

export async function serveForTest(
  { stallMs, connectionLimits, inFlightLimits, isLocalCaller, ...options }: TestOptions = {},
  before: (tokens: TokenStore) => Promise<void> = async () => {},
): Promise<ServedHotcell> {
  const home = newTestHome();
  const tokens = openTokenStore(home);
  await before(tokens);
  const server = await openServer({
    ...TARGETS.shared.options,
    dataDir: home,
    poolSize: 0,
    preloads: [],
    port: 0,
    logLevel: 'silent',
    metrics: true,
    ...options,
  });
  const offer = profileSetOf(server.config.profile, loadSettings);
  const serving = await serveHttp(server, {
    serverFor: mcpServerFor(server, undefined, offer),
    longTools: longTools(offer.tools),
    signedFilesOnly: offer.signedFilesOnly === true,
    largestMessageBytes: offer.largestMessageBytes,
    ...(stallMs === undefined ? {} : { stallMs }),
    ...(connectionLimits === undefined ? {} : { connectionLimits }),
    ...(inFlightLimits === undefined ? {} : { inFlightLimits }),
    ...(isLocalCaller === undefined ? {} : { isLocalCaller }),
  }).catch(async (error) => {
    await server.close();
    rmSync(home, { recursive: true, force: true });
    throw error;
  });
  return {
    url: serving.url,
    port: serving.port,
    home,
    server,
    tokens,
    nobody: anonymousOwner(server.config),
    ownerOf: (id) => tokenOwner(id, server.config),
    send: (method, path, given = {}) => sendTo(serving.port, method, path, given),
    [Symbol.asyncDispose]: async () => {
      await serving.close();
      await server.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A request as it is given, without a library that would mend its path or its headers. */
export function sendTo(port: number, method: string, path: string, options: SendOptions): Promise<Answer> {
  const { headers = {}, body, token } = options;
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const given: RequestOptions = {
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { ...authorization, ...headers },
    agent: false,
  };
  return new Promise((resolve, reject) => {
    const request = sendRequest(given, async (response) => {
      const pieces: Buffer[] = [];
      try {
        for await (const piece of response) pieces.push(piece);
      } catch (error) {
        return reject(error);
      }
      const whole = Buffer.concat(pieces);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: whole,
        json: () => JSON.parse(whole.toString('utf8')),
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A call of a tool as a client of the older era sends it without opening a connection: one request, one answer. */
export function toolCall(name: string, args: object = {}): SendOptions {
  return {
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      [STRUCTURED_HEADER]: 'true',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  };
}
