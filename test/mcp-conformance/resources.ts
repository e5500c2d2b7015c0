import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { description, PNG } from './samples.ts';

/** Resources by fixed names, one by a template, and one that can be watched. */
export function addResources(server: McpServer): void {
  const text = (name: string, uri: string, content: string) =>
    server.registerResource(name, uri, { description, mimeType: 'text/plain' }, async ({ href }) => ({
      contents: [{ uri: href, mimeType: 'text/plain', text: content }],
    }));
  text('static-text', 'test://static-text', 'This is the content of the static text resource.');
  text('watched', 'test://watched-resource', 'It never changes.');
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { description, mimeType: 'image/png' },
    async ({ href }) => ({ contents: [{ uri: href, mimeType: 'image/png', blob: PNG }] }),
  );
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description, mimeType: 'application/json' },
    async ({ href }, { id }) => {
      const value = { id, templateTest: true, data: `Data for ID: ${String(id)}` };
      return { contents: [{ uri: href, mimeType: 'application/json', text: JSON.stringify(value) }] };
    },
  );
  // The newer era has no such requests.
  server.server.setRequestHandler('resources/subscribe', () => ({}));
  server.server.setRequestHandler('resources/unsubscribe', () => ({}));
}
