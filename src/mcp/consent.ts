import { createHash, randomBytes } from 'node:crypto';
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/**
 * Asks the person at the client before a tool does what the operator did not allow. A server that may ask has one, for
 * all its clients.
 */
export interface Asking {
  /** The state that travels through the client with a question. */
  readonly codec: RequestStateCodec<AskedState>;
}

/** A question that was asked, and the call that it was about. */
interface AskedState {
  /** A digest of the call, so that an answer counts for this very call of this owner. */
  readonly about: string;
  readonly rules: readonly string[];
}

/** The person's consent within one call of a tool. */
export interface Consent {
  /** The rules that the person allowed, if this call was asked about before: `refused`, if the person did not. */
  answer(): Promise<readonly string[] | 'refused' | undefined>;
  /** The question as the result of the call, or undefined if the person cannot be asked. */
  question(rules: readonly string[], message: string): Promise<InputRequiredResult | undefined>;
}

/** Thrown by a handler to ask first: the result of the call is then the question. */
export class QuestionFirst extends Error {
  override readonly name = 'QuestionFirst';
  readonly result: InputRequiredResult;
  constructor(result: InputRequiredResult) {
    super('the person is asked first');
    this.result = result;
  }
}

export const NO_CONSENT: Consent = { answer: async () => undefined, question: async () => undefined };

const KEY = 'allow';
const answered = z.object({ [KEY]: z.boolean() });

/** SECURITY: signed, so that a client cannot make up what was asked; it expires after ten minutes. */
export function createAsking(): Asking {
  return { codec: createRequestStateCodec<AskedState>({ key: randomBytes(32), ttlSeconds: 600 }) };
}

export interface ConsentedCall {
  readonly owner: string;
  readonly tool: string;
  readonly args: unknown;
}

export function consentIn(
  { codec }: Asking,
  call: ConsentedCall,
  { server, context }: { server: McpServer; context: ServerContext },
): Consent {
  const about = createHash('sha256')
    .update(JSON.stringify([call.owner, call.tool, call.args]))
    .digest('base64url');
  const { mcpReq } = context;
  return {
    answer: async () => {
      const state = mcpReq.requestState<AskedState>();
      if (state === undefined || state.about !== about) return undefined;
      if (inputResponse(mcpReq.inputResponses, KEY).kind !== 'elicit') return undefined;
      return acceptedContent(mcpReq.inputResponses, KEY, answered)?.[KEY] === true ? state.rules : 'refused';
    },
    question: async (rules, message) => {
      if (!canElicit(capabilitiesOf(server, context))) return undefined;
      return inputRequired({
        inputRequests: { [KEY]: inputRequired.elicit({ message, requestedSchema: FORM }) },
        requestState: await codec.mint({ about, rules }, context),
      });
    },
  };
}

/** SECURITY: a field of its own, so that a client which accepts an empty form by itself does not allow anything. */
const FORM = {
  type: 'object' as const,
  properties: { [KEY]: { type: 'boolean' as const, title: 'Allow it for this session' } },
  required: [KEY],
};

function capabilitiesOf(server: McpServer, { mcpReq }: ServerContext): ClientCapabilities | undefined {
  const envelope = (mcpReq.envelope ?? {}) as Record<string, ClientCapabilities | undefined>;
  return envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
}

/** Whether the client shows forms: an older client that shows any names no kinds. */
function canElicit(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation as Record<string, unknown> | undefined;
  return elicitation !== undefined && (Object.keys(elicitation).length === 0 || 'form' in elicitation);
}
