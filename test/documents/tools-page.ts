import { z } from 'zod';
import { configSchema } from '../../src/config/schema.ts';
import { PATIENT_CLIENTS, USUAL_WAIT_MS } from '../../src/mcp/client-patience.ts';
import { INSTRUCTIONS } from '../../src/mcp/instructions.ts';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { RESULT_META } from '../../src/mcp/present/result-meta.ts';
import { PROMPTS } from '../../src/mcp/prompts/index.ts';
import { FILE_TEMPLATE, LOG_TEMPLATE } from '../../src/mcp/resources/uris.ts';
import { TOOLS } from '../../src/mcp/tools/index.ts';

/** docs/tools.md, as the definitions have it. */
export function toolsPage(): string {
  return `# Tools

<!-- Made from src/mcp/tools: change those, then run \`npx vitest run test/documents.test.ts -u\`. -->

What a model sees of Hotcell over MCP. Every tool answers with text to read, and images. A failure of Hotcell's own is a
result with \`isError\`, whose text says code, message and remedy ([errors](errors.md)). How your code ended is never an
error: the text says it, and \`outcome\` does for programs.

${TOOLS.map(({ name, title }) => `- [\`${name}\`](#${name}): ${title}`).join('\n')}

## Data for programs

| where | what | when |
|---|---|---|
| \`_meta["${RESULT_META}"]\` | the data of the tool, as listed below, without the texts that the content has (output, value, traceback) | every success |
| \`_meta["${ERROR_META}"]\` | \`{code, message, remedy, retry}\` | every failure |
| \`structuredContent\` | all of the data, with an \`outputSchema\` for each tool | a success, if it was asked for |

Ask for \`structuredContent\` with the option \`structuredContent\` ([configuration](configuration.md)), with \`hotcell mcp
--structured-content\` or \`hotcell serve --structured-content\`, or over HTTP for one client with the header
\`Hotcell-Structured-Content: true\` (in the older protocol, on \`initialize\`). It is not the default, because clients
choose: some give a model the structured content *instead of* the text and the images
([why](adr/0011-text-for-models-facts-in-meta.md)). The profile \`code-sandbox\` always sends it.

## Long runs

A run that takes longer than its client waits for continues in the background by itself. The reply then has the output so
far, and says how to go on with \`get_execution\`. Until then, cancelling the call interrupts the run; from then on the run
is a background execution. A run that named no \`timeout_ms\` gets ${minutes(configSchema.parse({}).backgroundTimeoutMs)} in the background.

| client | \`clientInfo.name\` begins with | a call is answered after | because it |
|---|---|---|---|
${PATIENT_CLIENTS.map(({ product, name, waitMs, needsProgress, reason }) => `| ${product} | \`${name}\` | ${waitMs / 1000} s${needsProgress ? ', if it asked for progress' : ''} | ${reason} |`).join('\n')}
| all others | | ${USUAL_WAIT_MS / 1000} s | the TypeScript SDK gives up after 60 s by default |

\`backgroundAfterMs\` ([configuration](configuration.md)) sets one time for every client: 4 seconds, for example, for
openai-agents, which gives up after 5. A run without \`timeout_ms\` is answered after \`timeoutMs\` at the latest. The tools
of the profile \`code-sandbox\` never do this.

## What a model is told first

\`\`\`text
${INSTRUCTIONS}
\`\`\`

${TOOLS.map(toolSection).join('\n')}
## Resources

| address | holds |
|---|---|
| \`${FILE_TEMPLATE}\` | a file of a session's workspace; the links in replies lead here |
| \`${LOG_TEMPLATE}\` | all that an execution printed, as far as it was kept |

## Prompts

| prompt | arguments | does |
|---|---|---|
${PROMPTS.map(({ name, args, description }) => `| \`${name}\` | ${Object.keys(args.shape).join(', ')} | ${description} |`).join('\n')}
`;
}

function minutes(ms: number): string {
  return `${ms / 60_000} minutes`;
}

function toolSection(tool: (typeof TOOLS)[number]): string {
  const hints = [
    tool.annotations.readOnlyHint === true ? 'reads only' : 'changes the session',
    ...(tool.annotations.destructiveHint === true ? ['can destroy what is there'] : []),
    ...(tool.isLong === true ? ['sends progress'] : []),
    ...(tool.needsHostFiles === true ? ['over HTTP only where the server grants it'] : []),
    ...(tool.needsNetwork === true ? ['only where the server grants a network'] : []),
  ];
  return `## ${tool.name}

*${tool.title}: ${hints.join(', ')}.*

\`\`\`text
${tool.description}
\`\`\`

${argumentTable(tool.input)}
Its data: ${Object.keys(tool.output.shape)
    .map((name) => `\`${name}\``)
    .join(', ')}.
`;
}

interface Property {
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly type?: string;
  readonly properties?: Record<string, Property>;
  readonly items?: Property;
}

function argumentTable(schema: z.ZodObject): string {
  const json = z.toJSONSchema(schema, { io: 'input' }) as {
    properties?: Record<string, Property>;
    required?: string[];
  };
  const rows = Object.entries(json.properties ?? {}).flatMap(([name, property]) =>
    rowsOf(name, property, json.required?.includes(name) === true),
  );
  if (rows.length === 0) return 'It takes no arguments.\n';
  return `| argument | type | default | it means |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

function rowsOf(name: string, property: Property, isRequired: boolean): string[] {
  const inner = property.properties ?? property.items?.properties;
  const value =
    property.default === undefined ? (isRequired ? 'required' : '') : `\`${JSON.stringify(property.default)}\``;
  const row = `| \`${name}\` | ${typeOf(property)} | ${value} | ${(property.description ?? '').replaceAll('|', '\\|')} |`;
  const separator = property.items === undefined ? '.' : '[].';
  return [
    row,
    ...Object.entries(inner ?? {}).flatMap(([key, value]) => rowsOf(`${name}${separator}${key}`, value, false)),
  ];
}

function typeOf({ enum: values, type }: Property): string {
  return values === undefined ? (type ?? 'any') : values.map((value) => `\`${value}\``).join(', ');
}
