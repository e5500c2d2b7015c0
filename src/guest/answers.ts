import { z } from 'zod';

/** Answers of a kernel as the host accepts them (docs/guest-protocol.md, section 9). Any of them may have been written by user code. */

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const text = (max: number) => z.string().max(max);

export const completionAnswer = z.object({
  matches: z.array(z.object({ text: text(1000), kind: text(40).optional() })).max(1000),
  start: count,
  end: count,
});
export type CompletionAnswer = z.infer<typeof completionAnswer>;

export const inspectionAnswer = z.object({
  found: z.boolean(),
  name: text(1000).optional(),
  type: text(1000).optional(),
  signature: text(10_000).optional(),
  doc: text(20_000).optional(),
  summary: text(5000).optional(),
});
