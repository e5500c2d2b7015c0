import type { ContentBlock } from '@modelcontextprotocol/server';

/**
 * The text of a reply: first what Hotcell says, in a block of its own; then, where there are any, words that are not ours. SECURITY: that is how a model
 * tells them apart (`INSTRUCTIONS` says so): a file or a program can hold any sentence, also one of ours.
 */
export function textBlocks(ours: string, ...theirs: readonly string[]): ContentBlock[] {
  return [ours, ...theirs.filter((text) => text !== '')].map((text) => ({ type: 'text', text }));
}
