import type { Dialect, Json, ToolResult } from './dialect.ts';

/** Google's Gemini API, which Gemini CLI speaks. Pictures stand beside the response of a tool, or inside it. */
export const gemini: Dialect = {
  isTurn: (path) => path.includes('GenerateContent') || path.includes('generateContent'),
  toolsIn: (body) =>
    (body.tools ?? []).flatMap((tool: Json) => (tool.functionDeclarations ?? []).map(({ name }: Json) => ({ name }))),
  resultsIn: (body) =>
    body.contents
      .map(({ parts }: Json) => parts ?? [])
      .filter((parts: Json[]) => parts.some((part) => 'functionResponse' in part))
      .map(resultOf),
  answer: (_turn, call) => {
    const part =
      call === undefined ? { text: 'done' } : { functionCall: { name: call.tool.name, args: call.arguments } };
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
    const candidates = [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }];
    return { events: [{ data: { candidates, usageMetadata } }] };
  },
};

function resultOf(parts: Json[]): ToolResult {
  const inside = parts.flatMap((part) => [part, ...(part.functionResponse?.parts ?? [])]);
  return {
    text: inside
      .map(
        (part) => part.text ?? part.functionResponse?.response?.output ?? part.functionResponse?.response?.error ?? '',
      )
      .join('\n'),
    pictures: inside.filter((part) => part.inlineData?.mimeType?.startsWith('image/')).length,
  };
}
