import * as z from 'zod';
import { isWorkspacePath } from '../lib/workspace-path.ts';
import { commandName, guestOutcomeSchema, MAX_MESSAGE_BYTES } from '../sandbox/outcome-table.ts';

/**
 * Schemas of the messages of the guest protocol, as the host accepts them (docs/guest-protocol.md). SECURITY: a guest
 * is hostile after the first execution, so a message that does not match ends its sandbox. Unknown members are dropped,
 * known ones are bounded.
 */

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const text = (max: number) => z.string().max(max);
/** A path below the workspace. A list contains each path at most once. */
const path = text(4200).refine(isWorkspacePath, 'not a path below the workspace');
const eachOnce = (files: readonly { path: string }[]) => new Set(files.map((file) => file.path)).size === files.length;

export const welcomeMessage = z.object({
  protocol: z.literal(1),
  epoch: count,
  guest: z.object({ version: text(100), python: text(100) }),
  offers: z.array(text(40)).max(40),
});
export type Welcome = z.infer<typeof welcomeMessage>;

export const refusedMessage = z.object({ reason: text(1000), code: text(40).optional() });

export const replyMessage = z.discriminatedUnion('ok', [
  z.object({ id: count, ok: z.literal(true), result: z.record(z.string(), z.unknown()).default({}) }),
  z.object({ id: count, ok: z.literal(false), error: z.object({ code: text(40), message: text(5000) }) }),
]);

/** Names of at most 200 code points, each of which is one or two UTF-16 code units. */
const changedNames = z.array(text(400)).max(100);
/** Names of variables, without values. */
const variableChanges = z.object({
  added: changedNames,
  rebound: changedNames,
  deleted: changedNames.default([]),
  omitted: z.number().int().min(-1),
});

/**
 * `value`: how many bytes of the body are the text of the last expression. `message`: how many after them are the whole
 * message of an exception that is too long for the head.
 */
export const finishedMessage = z.object({
  outcome: guestOutcomeSchema,
  state: z.enum(['kept', 'lost']),
  durationMs: z.number().min(0),
  cpuMs: z.number().min(0),
  peakMemoryBytes: count,
  artifactsOmitted: z.number().int().min(-1),
  value: z.object({ truncated: z.boolean(), bytes: z.number().int().min(0).max(65_536) }).optional(),
  message: z.object({ bytes: z.number().int().min(0).max(MAX_MESSAGE_BYTES) }).optional(),
  restarted: text(500).optional(),
  variables: variableChanges.optional(),
});
export type Finished = z.infer<typeof finishedMessage>;

export const artifactList = z
  .array(z.object({ path, sizeBytes: count, change: z.enum(['created', 'modified']) }))
  .max(1000)
  .refine(eachOnce, 'a path stands in it twice');

/**
 * A piece of one representation of a display, or of the value. The representations of one display have the same
 * `index`.
 */
export const displayMessage = z.object({
  index: count,
  part: z.number().int().min(0).max(15),
  mediaType: text(100).regex(/^[a-z]+\/[a-z0-9][a-z0-9.+_-]*$/),
  end: z.boolean(),
  id: text(200).optional(),
  update: z.boolean().optional(),
  value: z.boolean().optional(),
});
export type DisplayPiece = z.infer<typeof displayMessage>;

export const clearMessage = z.object({ wait: z.boolean() });

export const fileList = z
  .array(
    z.object({
      path,
      kind: z.enum(['file', 'folder', 'link', 'other']),
      sizeBytes: count,
      modifiedMs: z.number(),
    }),
  )
  .max(5000)
  .refine(eachOnce, 'a path stands in it twice');
export type FileEntry = z.infer<typeof fileList>[number];

export const warmMessage = z.object({
  missing: z.array(text(200)).max(200),
  dropped: z.array(text(200)).max(200),
  /** Whether the process that imports the preloads has died, for example of the memory limit. */
  died: z.boolean().optional(),
});
export type WarmReport = z.infer<typeof warmMessage>;

export { nothing } from './nothing.ts';
export const sizeReply = z.object({ sizeBytes: count });
export const listReply = z.object({ omitted: count });
/** Reply to `signal` and `resize`. */
export const commandReply = z.object({ ended: z.boolean().optional() });
/** Reply to `layer` and `layer.write`. */
export const layerReply = z.object({ superseded: z.array(text(200)).max(100) });
export const layersReply = z.object({ names: z.array(text(20)).max(10_000) });
export const commandsReply = z.object({ missing: z.array(commandName).max(200) });

/** A 32-bit number of a frame's header. */
const word = z.number().int().min(0).max(0xffff_ffff);

export const gapMessage = z.object({ frames: count, bytes: count, next: word });

export const creditMessage = z.object({ stream: word, bytes: count });

/** `execution`: the one whose process makes the call; null for a process that belongs to none. */
export const callMessage = z.object({ id: count, execution: text(100).nullable(), method: text(200), stream: word });
export const callCancelMessage = z.object({ id: count });
/** A piece of the argument or of the input of a call, on its stream. */
export const callPiece = z.object({ type: z.enum(['argument', 'chunk']), end: z.boolean() });
/** Ports of the sandbox by the names of its listeners. The host asks for at most 64. */
export const networkReply = z.object({
  ports: z
    .record(text(64), z.number().int().min(1).max(65_535))
    .refine((ports) => Object.keys(ports).length <= 64, 'too many ports'),
});
export const cpuReply = z.object({ cpuMs: z.number().min(0) });
