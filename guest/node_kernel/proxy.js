import { createRequire } from 'node:module';
import process from 'node:process';

const { env } = process;
/** Where Node's `fetch`, and the package it is made from, look for the client to use. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');
const OURS = Symbol.for('hotcell.proxy');
const MOST_HEAD_BYTES = 65_536;
/** Node reads this file when it starts. A kernel that was there before the network must read it later. */
const knownFromStart = env.NODE_EXTRA_CA_CERTS;

/**
 * Makes `fetch`, `http` and `https` of this process use the proxy that the environment names, whenever they connect: what Node itself does from 22.21 and 24.5
 * on if `NODE_USE_ENV_PROXY` is set when it starts. Idempotent. Clients that a program has set up itself are left alone.
 */
export function useProxy() {
  const load = createRequire('/');
  const [http, https] = [load('node:http'), load('node:https')];
  if (http.globalAgent[OURS]) return;
  void globalThis.Response; // makes Node load its client
  const client = globalThis[DISPATCHER];
  if (client?.constructor.name === 'Agent') globalThis[DISPATCHER] = new client.constructor({ connect });
  route(http.globalAgent, false);
  route(https.globalAgent, true);

  /** A connector of undici: its Agent calls it for each new connection to an origin. */
  function connect({ protocol, hostname, port, servername }, callback) {
    const isSecure = protocol === 'https:';
    const target = { host: hostname, port: Number(port) || (isSecure ? 443 : 80) };
    reach(target, isSecure, (error, socket) => {
      if (error !== null) callback(error, null);
      else if (isSecure)
        secure(socket, { servername: servername || nameOf(hostname), ALPNProtocols: ['http/1.1'] }, callback);
      else callback(null, socket);
    });
  }

  function route(agent, isSecure) {
    const direct = agent.createConnection;
    agent[OURS] = true;
    agent.createConnection = function createConnection(options, callback) {
      const host = options.host ?? 'localhost';
      const target = { host, port: Number(options.port) || (isSecure ? 443 : 80) };
      if (options.socketPath || proxyFor(target, isSecure) === undefined) return direct.call(this, options, callback);
      reach(target, isSecure, (error, socket) => {
        if (error !== null) callback(error);
        else if (isSecure)
          callback(null, secured(socket, { ...options, servername: options.servername ?? nameOf(host) }));
        else callback(null, socket);
      });
      return undefined;
    };
  }

  function reach(target, isSecure, callback) {
    const net = load('node:net');
    const proxy = proxyFor(target, isSecure);
    if (proxy !== undefined) return tunnel(net.connect(Number(proxy.port), proxy.hostname), target, callback);
    const socket = net.connect(target.port, target.host);
    const fail = (error) => callback(error);
    socket.setNoDelay(true);
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      callback(null, socket);
    });
  }

  function secure(socket, options, callback) {
    const made = secured(socket, options);
    const fail = (error) => callback(error, null);
    made.once('error', fail);
    made.once('secureConnect', () => {
      made.off('error', fail);
      callback(null, made);
    });
  }

  function secured(socket, options) {
    const tls = load('node:tls');
    return tls.connect({ ...lateCertificates(load, tls), ...options, path: undefined, socket });
  }

  function nameOf(host) {
    return load('node:net').isIP(host) === 0 ? host : '';
  }
}

/** The proxy for a target as an URL, undefined if it is reached directly. `NO_PROXY` is read as curl and undici read it. */
export function proxyFor({ host, port }, isSecure, variables = env) {
  const text = isSecure
    ? (variables.https_proxy ?? variables.HTTPS_PROXY)
    : (variables.http_proxy ?? variables.HTTP_PROXY);
  if (!text || /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host)) return undefined;
  const name = host.toLowerCase();
  for (const entry of (variables.no_proxy ?? variables.NO_PROXY ?? '').toLowerCase().split(/[\s,]+/)) {
    const [, pattern = '', onlyPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
    if (pattern === '' || (onlyPort !== undefined && Number(onlyPort) !== port)) continue;
    const suffix = pattern.replace(/^\*/, '');
    if (name === pattern || (suffix !== pattern && name.endsWith(suffix))) return undefined;
    if (pattern.startsWith('.') && name.endsWith(pattern)) return undefined;
  }
  try {
    const proxy = new URL(text.includes('://') ? text : `http://${text}`);
    return proxy.protocol === 'http:' ? { hostname: proxy.hostname, port: proxy.port || '80' } : undefined;
  } catch {
    return undefined;
  }
}

/** Asks the proxy for a connection to the target. */
function tunnel(socket, { host, port }, callback) {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  let head = Buffer.alloc(0);
  const over = (error) => {
    socket.off('readable', read);
    socket.off('error', over);
    socket.off('end', cut);
    if (error !== undefined) socket.destroy();
    if (error !== undefined) callback(error);
    else callback(null, socket);
  };
  const cut = () => over(new Error(`the proxy closed the connection to ${authority}`));
  // Not by `data`: after that the socket would flow, or be paused, and its next reader expects neither.
  const read = () => {
    for (let piece = socket.read(); piece !== null; piece = socket.read()) {
      head = Buffer.concat([head, piece]);
      const end = head.indexOf('\r\n\r\n');
      if (end >= 0 || head.length > MOST_HEAD_BYTES) return answered(end);
    }
  };
  const answered = (end) => {
    const [, status, reason] = /^HTTP\/1\.[01] (\d{3}) ?([^\r\n]*)/.exec(head.toString('latin1', 0, 1_000)) ?? [];
    if (end < 0 || status !== '200')
      return over(
        new Error(`the proxy does not connect to ${authority}: ${status ?? 'no HTTP'} ${reason ?? ''}`.trim()),
      );
    if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
    over();
  };
  socket.setNoDelay(true);
  socket.on('error', over);
  socket.on('end', cut);
  socket.on('readable', read);
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
}

let late;
/** The certificates of a file that was named after Node had started. Read once: to parse them takes as long as a handshake. */
function lateCertificates(load, tls) {
  const path = env.NODE_EXTRA_CA_CERTS;
  if (!path || path === knownFromStart) return {};
  if (late?.path !== path) {
    try {
      const ca = [...tls.rootCertificates, load('node:fs').readFileSync(path, 'utf8')];
      late = { path, secureContext: tls.createSecureContext({ ca }) };
    } catch {
      return {};
    }
  }
  return { secureContext: late.secureContext };
}
