import {
  acceptedContent,
  completable,
  type GetPromptResult,
  inputRequired,
  type McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { description, PNG } from './samples.ts';

type Content = GetPromptResult['messages'][number]['content'];

const context = z.object({ context: z.string() });
const completed = completable(z.string(), (value) => ['test-a', 'hello'].filter((word) => word.startsWith(value)));

/** Prompts with and without arguments, with a picture, a resource, and one that asks first. */
export function addPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description }, () => says('This is a simple prompt for testing.'));
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description, argsSchema: z.object({ arg1: completed, arg2: z.string() }) },
    ({ arg1, arg2 }) => says(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description, argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => {
      const resource = { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
      return asked({ type: 'resource', resource }, plain('Please process the embedded resource above.'));
    },
  );
  server.registerPrompt('test_prompt_with_image', { description }, () =>
    asked({ type: 'image', data: PNG, mimeType: 'image/png' }, plain('Please analyze the image above.')),
  );
  server.registerPrompt('test_input_required_result_prompt', { description }, async ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_context', context);
    if (given !== undefined) return says(given.context);
    const form = { message: 'What context should the prompt use?', requestedSchema: context };
    return inputRequired({ inputRequests: { user_context: inputRequired.elicit(form) } });
  });
}

function plain(text: string): Content {
  return { type: 'text', text };
}

function asked(...contents: Content[]): GetPromptResult {
  return { messages: contents.map((content) => ({ role: 'user', content })) };
}

function says(text: string): GetPromptResult {
  return asked(plain(text));
}
