import type { Truncation } from '../../execution/result.ts';
import { type Dropped, NOTHING_DROPPED } from '../../lib/clip.ts';

/** What the collector dropped from the middle of a stream. The line that stands for it in the text has two line ends of its own. */
export function droppedFrom(stream: 'stdout' | 'stderr', truncation: Truncation | undefined): Dropped {
  const bytes = truncation?.[`${stream}DroppedBytes`] ?? 0;
  if (bytes === 0) return NOTHING_DROPPED;
  return { bytes, lines: (truncation?.[`${stream}DroppedLines`] ?? 0) - 2 };
}
