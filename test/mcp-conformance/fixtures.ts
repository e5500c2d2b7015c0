import type { McpServer } from '@modelcontextprotocol/server';
import { addContentTools } from './content-tools.ts';
import { addInputTools } from './input-tools.ts';
import { addPrompts } from './prompts.ts';
import { addResources } from './resources.ts';

/** What the official conformance suite calls by fixed names, on top of a real server of ours. Never shipped. */
export function addConformanceFixtures(server: McpServer): McpServer {
  server.server.registerCapabilities({ logging: {}, resources: { subscribe: true } });
  addContentTools(server);
  addInputTools(server);
  addResources(server);
  addPrompts(server);
  return server;
}
