import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { serveCalls, server } from './calls.mjs';

const { resolve } = createRequire(process.argv[3]);
const { createMCPClient } = await import(pathToFileURL(resolve('@ai-sdk/mcp')).href);
const { Experimental_StdioMCPTransport } = await import(pathToFileURL(resolve('@ai-sdk/mcp/mcp-stdio')).href);

const client = await createMCPClient({ transport: new Experimental_StdioMCPTransport(server) });
const tools = await client.tools();
await serveCalls(async (name, given, abortSignal) => {
  const tool = tools[name];
  const output = await tool.execute(given, { toolCallId: '1', messages: [], abortSignal });
  const { value } = await tool.toModelOutput({ toolCallId: '1', input: given, output });
  return {
    text: value.map(({ type, text }) => (type === 'text' ? text : '')).join('\n'),
    pictures: value.filter(({ type, mediaType }) => type !== 'text' && mediaType?.startsWith('image/')).length,
  };
});
await client.close();
