import { createInterface } from 'node:readline';

/** The command of the server, as the test gives it: `command`, `args`, `env`. */
export const server = JSON.parse(process.argv[2]);

/** Makes each call that the test asks for on a line of standard input. `cancelAfterMs` aborts one that is under way. */
export async function serveCalls(call) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { tool, arguments: given, cancelAfterMs } = JSON.parse(line);
    const abort = new AbortController();
    const timer = cancelAfterMs === undefined ? undefined : setTimeout(() => abort.abort(), cancelAfterMs);
    const answer = await call(tool, given, abort.signal).catch((error) => ({
      text: abort.signal.aborted ? 'cancelled' : error.message,
      pictures: 0,
    }));
    clearTimeout(timer);
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}

/** The text and the pictures of an MCP result. */
export function ofContent(content) {
  return {
    text: content.map(({ type, text }) => (type === 'text' ? text : '')).join('\n'),
    pictures: content.filter(({ type }) => type === 'image').length,
  };
}
