import type { Dialect, Json, OfferedTool, ToolResult } from './dialect.ts';

const OUTPUTS = ['function_call_output', 'mcp_tool_call_output', 'custom_tool_call_output'];

/** OpenAI's Responses API, which Codex speaks. It offers the tools of an MCP server as a namespace. */
export const openai: Dialect = {
  isTurn: (path) => path.includes('/responses'),
  toolsIn: (body) => (body.tools ?? []).flatMap(offered),
  resultsIn: (body) =>
    body.input.filter(({ type }: Json) => OUTPUTS.includes(type)).map(({ output }: Json) => resultOf(output)),
  answer: (turn, call) => {
    const item =
      call === undefined
        ? { type: 'message', role: 'assistant', id: `m_${turn}`, content: [{ type: 'output_text', text: 'done' }] }
        : {
            type: 'function_call',
            id: `fc_${turn}`,
            call_id: `call_${turn}`,
            ...call.tool,
            arguments: JSON.stringify(call.arguments),
          };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return {
      events: [
        { type: 'response.created', response: { id: `r_${turn}` } },
        { type: 'response.output_item.done', item, output_index: 0 },
        { type: 'response.completed', response: { id: `r_${turn}`, usage } },
      ].map((data) => ({ event: data.type, data })),
    };
  },
};

function offered(tool: Json): OfferedTool[] {
  if (tool.type !== 'namespace') return tool.name === undefined ? [] : [{ name: tool.name }];
  return tool.tools.map(({ name }: Json) => ({ name, namespace: tool.name }));
}

function resultOf(output: Json): ToolResult {
  const parts: Json[] = typeof output === 'string' ? [{ type: 'input_text', text: output }] : output;
  return {
    text: parts.map(({ type, text }) => (type === 'input_text' ? text : '')).join('\n'),
    pictures: parts.filter(({ type }) => type === 'input_image').length,
  };
}
