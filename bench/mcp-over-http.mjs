import { once } from 'node:events';
import { Agent, request } from 'node:http';

const MODERN = '2026-07-28';
const LEGACY = '2025-11-25';
const clientInfo = { name: 'bench', version: '1' };

/**
 * A minimal client on one connection, in either era of the protocol, so that the cost of a client library does not
 * count.
 */
export async function connectRaw(url, era) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let id = 0;

  async function post(message, headers) {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const sent = request(`${url}/mcp`, {
      agent,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
    sent.end(body);
    const [response] = await once(sent, 'response');
    response.setEncoding('utf8');
    let text = '';
    for await (const piece of response) text += piece;
    return { text, headers: response.headers };
  }

  const legacy = era === 'legacy' ? await initialize(post) : undefined;
  const meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };

  return {
    /** Runs code in a session and returns the session's id. Throws if that failed. */
    async runCode(code, session) {
      id += 1;
      const args = { code, ...(session === undefined ? {} : { session_id: session }) };
      const params = { name: 'run_code', arguments: args, ...(legacy === undefined ? { _meta: meta } : {}) };
      const modern = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'run_code' };
      const { text } = await post({ id, method: 'tools/call', params }, legacy ?? modern);
      const facts = JSON.parse(text.slice(text.indexOf('{'))).result?._meta?.['dev.hotcell/result'];
      if (facts?.outcome !== 'ok') throw new Error(text);
      return facts.session_id;
    },
    close: () => agent.destroy(),
  };
}

/** The headers of a connection of the legacy era. */
async function initialize(post) {
  const params = { protocolVersion: LEGACY, capabilities: {}, clientInfo };
  const { headers } = await post({ id: 0, method: 'initialize', params }, {});
  const own = { 'mcp-session-id': headers['mcp-session-id'], 'mcp-protocol-version': LEGACY };
  await post({ method: 'notifications/initialized' }, own);
  return own;
}
