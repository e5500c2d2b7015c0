import type { ContentBlock } from '@modelcontextprotocol/server';

/**
 * The text of a reply: first Hotcell's own text, in a block of its own; then text from files and programs. SECURITY: a
 * model tells them apart by that (`INSTRUCTIONS` says so), because a file or a program can contain any sentence,
 * including one of Hotcell's.
 */
export function textBlocks(ours: string, ...theirs: readonly (string | ContentBlock)[]): ContentBlock[] {
  return [ours, ...theirs.filter((piece) => piece !== '')].map((piece) =>
    typeof piece === 'string' ? { type: 'text', text: piece } : piece,
  );
}
