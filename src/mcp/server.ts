import { McpServer, type McpServerOptions, type ServerContext } from '@modelcontextprotocol/server';
import { callWatchOf, watchCalls } from './call-watch.ts';
import { patienceOf } from './client-patience.ts';
import { type Asking, consentIn, NO_CONSENT } from './consent.ts';
import type { Tool, ToolCall } from './define-tool.ts';
import type { McpDeps } from './deps.ts';
import { instructionsFor } from './instructions.ts';
import { mayInstall, maySetNetwork } from './offered.ts';
import { startProgress } from './progress.ts';
import { registerPrompts } from './prompts/index.ts';
import { registerResources } from './resources/index.ts';
import { shortenErrors } from './short-errors.ts';
import { TOOLS } from './tools/index.ts';
import { unlistTools } from './unlisted-tools.ts';

export interface McpOptions {
  /** The tools of a profile, in place of Hotcell's own. */
  readonly tools?: readonly Tool[];
  readonly instructions?: string;
  /** Validators for elicitation (a tool asks the client), in place of those of `deps.asking`. For tests. */
  readonly elicitation?: Elicitation;
  /** Whether the client asked for structured content in replies. Default: as configured. */
  readonly wantsStructured?: boolean;
}

/**
 * Creates servers of both protocol eras for one owner. Called once per stdio connection and once per HTTP request, so a
 * server is cheap: expensive parts are made once, at module scope or in `deps`.
 */
export function createMcpFactory(deps: McpDeps, options: McpOptions = {}): () => McpServer {
  const { asking, owner } = deps;
  const tools = (options.tools ?? TOOLS).filter(
    ({ needsHostFiles }) => !needsHostFiles || deps.hostFiles !== undefined,
  );
  const unlisted = tools.filter(
    ({ needsNetwork, needsInstalling }) =>
      (needsNetwork === true && !maySetNetwork(deps)) || (needsInstalling === true && !mayInstall(deps)),
  );
  const unlistedNames = new Set(unlisted.map(({ name }) => name));
  // The prompts name Hotcell's own tools, which a profile does not have.
  const hasPrompts = tools.some((tool) => TOOLS.includes(tool));
  const wantsStructured = options.wantsStructured === true || deps.config.structuredContent === 'always';
  const isSame = !wantsStructured && owner.network === undefined && owner.mayInstall === undefined;
  return () => {
    const server = new McpServer(
      { name: 'hotcell', title: 'Hotcell', version: deps.version },
      {
        instructions: instructionsFor(deps.owner, options.instructions),
        ...(options.elicitation ?? (asking === undefined ? NO_ELICITATION : elicitationWith(asking))),
        // The list changes only with the version of Hotcell, with what this client asked for, and with its token.
        cacheHints: { 'tools/list': { ttlMs: 3_600_000, cacheScope: isSame ? 'public' : 'private' } },
      },
    );
    forgetInheritedNames(server);
    shortenErrors(server);
    watchCalls(server);
    unlistTools(server, unlistedNames);
    // Not passed to the constructor, which would add the handlers before their calls are watched.
    server.server.registerCapabilities({
      tools: { listChanged: false },
      resources: {},
      ...(hasPrompts ? { prompts: { listChanged: false } } : {}),
    });
    for (const tool of tools) registerTool(server, tool, { deps, wantsStructured });
    registerResources(server, deps);
    if (hasPrompts) registerPrompts(server);
    return server;
  };
}

/**
 * SECURITY: the SDK looks names up in plain objects, where `constructor` and `__proto__` are found although they were
 * never registered.
 */
function forgetInheritedNames(server: McpServer): void {
  for (const [name, registered] of Object.entries(server)) {
    if (name.startsWith('_registered')) Object.setPrototypeOf(registered, null);
  }
}

type Elicitation = Pick<McpServerOptions, 'requestState' | 'jsonSchemaValidator'>;

function refuseElicitation(): never {
  throw new Error('Hotcell sends no elicitation');
}

/**
 * SECURITY: where nothing is asked, no state travels through a client, so any state that comes back was forged. (The SDK's own
 * validator would also cost each HTTP request a third of a millisecond.)
 */
const NO_ELICITATION: Elicitation = {
  requestState: { verify: refuseElicitation },
  jsonSchemaValidator: { getValidator: refuseElicitation },
};

/** Forms have one field, which `consent.ts` checks, so that the SDK's own validator is not needed. */
function elicitationWith({ codec }: Asking): Elicitation {
  return {
    requestState: { verify: codec.verify },
    jsonSchemaValidator: {
      getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
    },
  };
}

/** Maximum size of a reply's text for Claude Code. Without this hint it takes about 100,000 characters. */
const RESULT_CHARS = 200_000;

/** Names of the tools whose calls may run for minutes. The HTTP server streams their responses. */
export function longTools(tools: readonly Tool[] = TOOLS): ReadonlySet<string> {
  return new Set(tools.filter(({ isLong }) => isLong).map(({ name }) => name));
}

function registerTool(
  server: McpServer,
  tool: Tool,
  { deps, wantsStructured }: Pick<ToolCall, 'deps' | 'wantsStructured'>,
): void {
  const { name, title, description, annotations } = tool;
  const patienceIn = ({ mcpReq }: ServerContext) => {
    const client = server.server.getClientVersion()?.name;
    const hasProgress = mcpReq._meta?.progressToken !== undefined;
    return patienceOf({ name: client, hasProgress }, deps.config.backgroundAfterMs);
  };
  const asked = (args: unknown) => ({ owner: deps.owner.id, tool: name, args });
  server.registerTool(
    name,
    {
      title,
      description,
      annotations: { title, ...annotations },
      inputSchema: tool.listed.input,
      ...(wantsStructured || tool.isStructured ? { outputSchema: tool.listed.output } : {}),
      _meta: { 'anthropic/maxResultSizeChars': RESULT_CHARS },
    },
    async (args, context) => {
      const progress = startProgress(context);
      const startedAt = performance.now();
      try {
        const result = await tool.answer(args, {
          deps,
          startedAt,
          patienceMs: patienceIn(context),
          wantsStructured,
          signal: context.mcpReq.signal,
          consent: deps.asking === undefined ? NO_CONSENT : consentIn(deps.asking, asked(args), { server, context }),
          reportWith: progress.reportWith,
          turn: async (bytes) => callWatchOf(context)?.turn(bytes),
        });
        const durationMs = Math.round(performance.now() - startedAt);
        deps.log.debug('tool call', {
          tool: name,
          owner: deps.owner.id,
          durationMs,
          isError: 'isError' in result && result.isError === true,
        });
        return result;
      } finally {
        progress.stop();
      }
    },
  );
}
