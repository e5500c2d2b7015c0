import { constants } from 'node:os';
import * as z from 'zod';
import { ERROR_CODES } from '../errors/codes.ts';
import { inOneLine, quoted, quotedName } from '../lib/said-inside.ts';
import { durationText, sizeText } from '../lib/units.ts';
import type { Outcome } from './outcome.ts';

type Kind = Outcome['kind'];
type OutcomeOf<K extends Kind> = Extract<Outcome, { kind: K }>;

/** Everything that depends on the kind of an outcome. A new kind is one entry here, which the compiler requires. */
interface OutcomeEntry<K extends Kind> {
  /** Members of the outcome, with bounds on values from a guest, and from a server that the CLI talks to. */
  readonly members: z.ZodRawShape;
  /** Members that the guest reports; the host adds its limits. Absent if only the host can know. */
  readonly fromGuest?: z.ZodRawShape;
  /** The exit code that a shell would see if the program ran without a sandbox. */
  exitCode(outcome: OutcomeOf<K>): number;
  /**
   * The information beyond the program's own output, as one sentence without its full stop. Each surface adds its own
   * advice.
   */
  sentence(outcome: OutcomeOf<K>): string | undefined;
  /** The name of the exception that represents it in a notebook. */
  readonly exception?: string;
}

const text = (max: number) => z.string().max(max);
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/**
 * SECURITY: these become part of our sentences, so they are restricted to the characters of a name: a guest can insert
 * neither a sentence nor a terminal sequence.
 */
export const commandName = text(100).regex(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/);
const signalName = z.string().regex(/^SIG[A-Z0-9+]{1,16}$/);

/** Maximum of a message. One that does not fit into the head of `finished` is in its body. */
export const MAX_MESSAGE_BYTES = 65_536;

const raised = {
  name: text(500),
  message: text(8_192),
  traceback: z.array(text(4_096)).max(2_000),
  hint: text(2_000).optional(),
  frames: z
    .array(z.object({ file: text(1_000), line: count, function: text(500), own: z.boolean() }))
    .max(50)
    .optional(),
};
const exited = { exitCode: z.number().int().min(0).max(255), name: text(500).optional() };

const TABLE: { readonly [K in Kind]: OutcomeEntry<K> } = {
  ok: { members: {}, fromGuest: {}, exitCode: () => 0, sentence: () => undefined },
  raised: {
    members: { ...raised, message: text(MAX_MESSAGE_BYTES) },
    fromGuest: raised,
    exitCode: () => 1,
    sentence: () => undefined,
  },
  exited: {
    members: exited,
    fromGuest: exited,
    exitCode: ({ exitCode }) => exitCode & 0xff,
    sentence: ({ exitCode, name }) => `exit code ${exitCode}${name === undefined ? '' : ` (${quoted(name, 100)})`}`,
    exception: 'SystemExit',
  },
  'timed-out': {
    members: { limitMs: z.number() },
    fromGuest: {},
    exitCode: () => 124, // like timeout(1)
    sentence: ({ limitMs }) => `timed out after ${durationText(limitMs)}`,
    exception: 'TimedOut',
  },
  'out-of-memory': {
    members: { limitBytes: z.number() },
    fromGuest: {},
    exitCode: () => 137, // like the kernel's OOM killer
    sentence: ({ limitBytes }) => `out of memory at the limit of ${sizeText(limitBytes)}`,
    exception: 'OutOfMemory',
  },
  interrupted: {
    members: { reason: z.enum(['session-expired', 'shutting-down']).optional() },
    fromGuest: {},
    exitCode: () => 130,
    sentence: () => 'interrupted',
    exception: 'KeyboardInterrupt',
  },
  'kernel-died': {
    members: { signal: text(100).optional() },
    fromGuest: { signal: signalName.optional() },
    exitCode: ({ signal }) => 128 + (signalNumber(signal) ?? constants.signals.SIGABRT),
    sentence: ({ signal }) => `the interpreter died${signal === undefined ? '' : ` of ${quotedName(signal)}`}`,
    exception: 'KernelDied',
  },
  'sandbox-lost': {
    members: { reason: text(10_000) },
    exitCode: () => ERROR_CODES.sandbox_lost.exitCode,
    sentence: ({ reason }) => `the sandbox was lost (${inOneLine(reason)})`,
    exception: 'SandboxLost',
  },
  unavailable: {
    members: { missing: z.array(text(100)).max(20), hint: text(2_000) },
    fromGuest: { missing: z.array(commandName).min(1).max(20) },
    exitCode: () => 127, // like a shell for a missing command
    sentence: ({ missing, hint }) =>
      `not in this sandbox: ${missing.map(quotedName).join(', ')}. ${inOneLine(hint)}`.trim().replace(/\.$/, ''),
    exception: 'Unavailable',
  },
};

export const OUTCOME_KINDS = Object.keys(TABLE) as [Kind, ...Kind[]];

/** An outcome as sent between a server and its client. */
export const outcomeSchema = z.discriminatedUnion(
  'kind',
  OUTCOME_KINDS.map((kind) => z.object({ kind: z.literal(kind), ...TABLE[kind].members })) as never,
) as unknown as z.ZodType<Outcome>;

/** An outcome as the guest reports it. */
export type GuestOutcome =
  | OutcomeOf<'ok' | 'raised' | 'exited' | 'kernel-died'>
  | { readonly kind: 'timed-out' }
  | { readonly kind: 'out-of-memory' }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'unavailable'; readonly missing: readonly string[] };

export const guestOutcomeSchema = z.discriminatedUnion(
  'kind',
  OUTCOME_KINDS.flatMap((kind) => {
    const { fromGuest } = TABLE[kind];
    return fromGuest === undefined ? [] : [z.object({ kind: z.literal(kind), ...fromGuest })];
  }) as never,
) as unknown as z.ZodType<GuestOutcome>;

export function exitCodeOfOutcome(outcome: Outcome): number {
  return entryOf(outcome).exitCode(outcome);
}

/**
 * One sentence without its full stop, in lower case, for one of our lines. Undefined if the program's own output says
 * it all.
 */
export function outcomeSentence(outcome: Outcome): string | undefined {
  return entryOf(outcome).sentence(outcome);
}

export function outcomeException(outcome: Outcome): string | undefined {
  return entryOf(outcome).exception;
}

function entryOf<K extends Kind>(outcome: OutcomeOf<K>): OutcomeEntry<K> {
  return TABLE[outcome.kind as K];
}

/** The name comes from the guest, and may be any text. */
function signalNumber(name: string | undefined): number | undefined {
  return new Map<string, number>(Object.entries(constants.signals)).get(name ?? '');
}
