import {
  acceptedContent,
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { description } from './samples.ts';

type Schema = Parameters<typeof inputRequired.elicit>[0]['requestedSchema'];
type Answers = ServerContext['mcpReq']['inputResponses'];

const name = z.object({ name: z.string() });
const consent = z.object({ ok: z.boolean() });
const colour = z.object({ color: z.string() });

/** Signs what travels through the client between two rounds. */
export const stateCodec = createRequestStateCodec<{ step: number }>({ key: 'for tests and nothing else at all' });

/** Tools that ask the client for something before they can answer. */
export function addInputTools(server: McpServer): void {
  addElicitation(server);
  const tool = (toolName: string, handler: (context: ServerContext) => Promise<unknown>) =>
    server.registerTool(toolName, { description }, handler as never);

  server.registerTool(
    'test_sampling',
    { description, inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const reply = inputResponse(mcpReq.inputResponses, 'reply');
      if (reply.kind !== 'sampling') return inputRequired({ inputRequests: { reply: sample(prompt, 100) } });
      const { content } = reply.result;
      return says(`LLM response: ${!Array.isArray(content) && content.type === 'text' ? content.text : ''}`);
    },
  );

  tool('test_input_required_result_elicitation', async ({ mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'user_name', name);
    if (given !== undefined) return says(`Hello, ${given.name}!`);
    return inputRequired({ inputRequests: { user_name: ask('What is your name?', name) } });
  });
  tool('test_input_required_result_sampling', async ({ mcpReq }) => {
    if (isSampled(mcpReq.inputResponses, 'capital_question')) return says('Paris');
    return inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?', 100) } });
  });
  tool('test_input_required_result_list_roots', async ({ mcpReq }) => {
    const reply = inputResponse(mcpReq.inputResponses, 'client_roots');
    if (reply.kind === 'roots') return says(reply.roots.map(({ uri }) => uri).join());
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  for (const toolName of [
    'test_input_required_result_request_state',
    'test_input_required_result_tampered_state',
  ] as const) {
    tool(toolName, async ({ mcpReq }) => {
      const isConfirmed = acceptedContent(mcpReq.inputResponses, 'confirm', consent) !== undefined;
      if (mcpReq.requestState<{ step: number }>() !== undefined && isConfirmed) return says('state-ok');
      return inputRequired({
        inputRequests: { confirm: ask('Please confirm', consent) },
        requestState: await stateCodec.mint({ step: 1 }),
      });
    });
  }
  tool('test_input_required_result_multiple_inputs', async ({ mcpReq: { inputResponses } }) => {
    const isComplete =
      acceptedContent(inputResponses, 'user_name', name) !== undefined &&
      isSampled(inputResponses, 'greeting') &&
      inputResponse(inputResponses, 'client_roots').kind === 'roots';
    if (isComplete) return says('all');
    return inputRequired({
      inputRequests: {
        user_name: ask('What is your name?', name),
        greeting: sample('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await stateCodec.mint({ step: 1 }),
    });
  });
  tool('test_input_required_result_multi_round', async ({ mcpReq }) => {
    const step = mcpReq.requestState<{ step: number }>()?.step;
    const answers = mcpReq.inputResponses;
    if (step === 2 && acceptedContent(answers, 'step2', colour) !== undefined) return says('done');
    if (step === 1 && acceptedContent(answers, 'step1', name) !== undefined) {
      return inputRequired({
        inputRequests: { step2: ask('Step 2: What is your favorite color?', colour) },
        requestState: await stateCodec.mint({ step: 2 }),
      });
    }
    return inputRequired({
      inputRequests: { step1: ask('Step 1: What is your name?', name) },
      requestState: await stateCodec.mint({ step: 1 }),
    });
  });
  tool('test_input_required_result_capabilities', async ({ mcpReq }) => {
    if (Object.keys(mcpReq.inputResponses ?? {}).length > 0) return says('ok');
    const envelope = (mcpReq.envelope ?? {}) as Record<string, Record<string, unknown> | undefined>;
    const can = envelope[CLIENT_CAPABILITIES_META_KEY];
    return inputRequired({
      inputRequests: {
        ...(can?.sampling === undefined ? {} : { reply: sample('hi', 10) }),
        ...(can?.elicitation === undefined ? {} : { consent: ask('hi', consent) }),
      },
      requestState: await stateCodec.mint({ step: 1 }),
    });
  });
  tool('test_missing_capability', async ({ mcpReq }) => {
    if (isSampled(mcpReq.inputResponses, 'reply')) return says('ok');
    return inputRequired({ inputRequests: { reply: sample('hi', 10) } });
  });
  tool('test_streaming_elicitation', async ({ mcpReq }) => {
    if (acceptedContent(mcpReq.inputResponses, 'confirm', consent) !== undefined) return says('ok');
    return inputRequired({ inputRequests: { confirm: ask('ok?', consent) } });
  });
}

function addElicitation(server: McpServer): void {
  const eliciting = (toolName: string, schema: Schema, inputSchema: z.ZodObject = z.object({})) =>
    server.registerTool(toolName, { description, inputSchema }, async (args, { mcpReq }) => {
      const reply = inputResponse(mcpReq.inputResponses, 'form');
      const message = 'message' in args ? String(args.message) : 'Please fill in';
      if (reply.kind !== 'elicit') return inputRequired({ inputRequests: { form: ask(message, schema) } });
      return says(`Elicitation completed: action=${reply.action}, content=${JSON.stringify(reply.content ?? {})}`);
    });
  const text = (about: string) => ({ type: 'string' as const, description: about });

  eliciting(
    'test_elicitation',
    {
      type: 'object',
      properties: { username: text("User's response"), email: text("User's email address") },
      required: ['username', 'email'],
    },
    z.object({ message: z.string() }),
  );
  eliciting('test_elicitation_sep1034_defaults', {
    type: 'object',
    properties: {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    },
    required: [],
  });
  eliciting('test_elicitation_sep1330_enums', {
    type: 'object',
    properties: {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: titled('Option') },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
      titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
    },
    required: [],
  });
}

function titled(noun: string) {
  return ['First', 'Second', 'Third'].map((rank, index) => ({ const: `value${index + 1}`, title: `${rank} ${noun}` }));
}

function ask(message: string, requestedSchema: Schema) {
  return inputRequired.elicit({ message, requestedSchema });
}

function sample(text: string, maxTokens: number) {
  return inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens });
}

function isSampled(answers: Answers, key: string): boolean {
  return inputResponse(answers, key).kind === 'sampling';
}

function says(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] };
}
