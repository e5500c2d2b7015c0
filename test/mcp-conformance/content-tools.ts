import { setTimeout as sleep } from 'node:timers/promises';
import type { CallToolResult, ContentBlock, McpServer } from '@modelcontextprotocol/server';
import { description, PNG, WAV } from './samples.ts';

/** Tools that answer with each kind of content, and those that talk while they work. */
export function addContentTools(server: McpServer): void {
  const answers = (name: string, ...content: ContentBlock[]) =>
    server.registerTool(name, { description }, async (): Promise<CallToolResult> => ({ content }));
  const image: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' };

  answers('test_simple_text', { type: 'text', text: 'This is a simple text response for testing.' });
  answers('test_image_content', image);
  answers('test_audio_content', { type: 'audio', data: WAV, mimeType: 'audio/wav' });
  answers(
    'test_embedded_resource',
    embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
  );
  answers(
    'test_multiple_content_types',
    { type: 'text', text: 'Multiple content types test:' },
    image,
    embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
  );

  server.registerTool('test_error_handling', { description }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool('test_tool_with_logging', { description }, async ({ mcpReq }) => {
    for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.log('info', message);
      await sleep(50);
    }
    return done();
  });
  server.registerTool('test_logging_tool', { description }, async ({ mcpReq }) => {
    await mcpReq.log('info', 'a line');
    return done();
  });
  server.registerTool('test_tool_with_progress', { description }, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      if (progressToken !== undefined) await mcpReq.notify({ method: 'notifications/progress', params });
      await sleep(50);
    }
    return done();
  });
  server.registerTool('test_reconnection', { description }, async ({ http }) => {
    http?.closeSSE?.();
    await sleep(100);
    return done();
  });
}

function embedded(uri: string, mimeType: string, text: string): ContentBlock {
  return { type: 'resource', resource: { uri, mimeType, text } };
}

function done(): CallToolResult {
  return { content: [{ type: 'text', text: 'done' }] };
}
