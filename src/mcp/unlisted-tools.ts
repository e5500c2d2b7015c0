import type { McpServer } from '@modelcontextprotocol/server';

type Handler = (request: unknown, context: unknown) => unknown;

/**
 * Leaves these tools out of the list. A call of one is answered as always: a client that knows the name from elsewhere
 * gets the error with its remedy, and the refusal is audited. Called before tools are registered.
 */
export function unlistTools({ server }: McpServer, unlisted: ReadonlySet<string>): void {
  if (unlisted.size === 0) return;
  const set = server.setRequestHandler.bind(server) as (...given: unknown[]) => void;
  server.setRequestHandler = ((...given: unknown[]) => {
    if (given[0] !== 'tools/list') return set(...given);
    const list = given.pop() as Handler;
    set(...given, async (request: unknown, context: unknown) => {
      const answer = (await list(request, context)) as { readonly tools: readonly { readonly name: string }[] };
      return { ...answer, tools: answer.tools.filter(({ name }) => !unlisted.has(name)) };
    });
  }) as typeof server.setRequestHandler;
}
