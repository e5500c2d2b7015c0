import type { Dialect, Json, ToolResult } from './dialect.ts';

/** Anthropic's Messages API, which Claude Code speaks. */
export const anthropic: Dialect = {
  isTurn: (path) => path.startsWith('/v1/messages') && !path.includes('count_tokens'),
  toolsIn: (body) => (body.tools ?? []).map(({ name }: Json) => ({ name })),
  resultsIn: (body) =>
    body.messages
      .filter(({ role, content }: Json) => role === 'user' && Array.isArray(content))
      .flatMap(({ content }: Json) => content)
      .filter(({ type }: Json) => type === 'tool_result')
      .map(({ content }: Json) => resultOf(content)),
  answer: (turn, call) => {
    const block =
      call === undefined
        ? { type: 'text', text: '' }
        : { type: 'tool_use', id: `toolu_${turn}`, name: call.tool.name, input: {} };
    const delta =
      call === undefined
        ? { type: 'text_delta', text: 'done' }
        : { type: 'input_json_delta', partial_json: JSON.stringify(call.arguments) };
    const stopReason = call === undefined ? 'end_turn' : 'tool_use';
    return {
      events: [
        { type: 'message_start', message: { ...MESSAGE, id: `msg_${turn}` } },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: stopReason, stop_sequence: null },
          usage: { output_tokens: 1 },
        },
        { type: 'message_stop' },
      ].map((data) => ({ event: data.type, data })),
    };
  },
};

const MESSAGE = {
  type: 'message',
  role: 'assistant',
  model: 'scripted',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};

function resultOf(content: Json): ToolResult {
  const blocks: Json[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return {
    text: blocks.map(({ type, text }) => (type === 'text' ? text : '')).join('\n'),
    pictures: blocks.filter(({ type }) => type === 'image').length,
  };
}
