import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { ofContent, serveCalls, server } from './calls.mjs';

// The clients are installed in a folder of their own, which the test names.
const { resolve } = createRequire(process.argv[3]);
const { Client } = await import(pathToFileURL(resolve('@modelcontextprotocol/sdk/client/index.js')).href);
const { StdioClientTransport } = await import(pathToFileURL(resolve('@modelcontextprotocol/sdk/client/stdio.js')).href);

const client = new Client({ name: 'sdk-v1', version: '1' });
await client.connect(new StdioClientTransport({ ...server, stderr: 'inherit' }));
await client.listTools();
await serveCalls(async (name, given, signal) =>
  ofContent((await client.callTool({ name, arguments: given }, undefined, { signal })).content),
);
await client.close();
