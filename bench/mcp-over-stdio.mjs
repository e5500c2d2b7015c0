import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** The built stdio server and a minimal client, so that the cost of a client library does not count. */
export function startMcp() {
  const child = spawn(execPath, [cli, 'mcp', '--isolation', 'process'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  let id = 0;
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const ask = (method, params = {}) =>
    new Promise((resolve, reject) => {
      id += 1;
      waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result) : reject(new Error(error.message)),
      );
      send({ id, method, params });
    });
  return {
    ask,
    async open() {
      const clientInfo = { name: 'bench', version: '1' };
      await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
      send({ method: 'notifications/initialized' });
    },
    async runCode(code) {
      const { _meta } = await ask('tools/call', { name: 'run_code', arguments: { code } });
      const { outcome } = _meta['dev.hotcell/result'];
      if (outcome !== 'ok') throw new Error(`it ended ${outcome}`);
    },
    async close() {
      child.stdin.end();
      await once(child, 'exit');
    },
  };
}
