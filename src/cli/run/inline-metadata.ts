import { parse } from 'smol-toml';
import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';

/** What a Python script says it needs, in a comment (PEP 723, "inline script metadata"). */
export interface InlineMetadata {
  /** Requirements, as for pip. They are checked like those of a command line. */
  readonly dependencies: readonly string[];
  /** The versions of Python that it runs on, such as `>=3.11`. */
  readonly requiresPython?: string;
}

const OPENING = '# /// script';
const CLOSING = '# ///';

const metadataSchema = z.looseObject({
  dependencies: z.array(z.string()).default([]),
  'requires-python': z.string().optional(),
});

/** Reads the block of a script. Undefined if there is none; throws `invalid_argument` if it is not valid, or if there are two. */
export function inlineMetadata(source: string): InlineMetadata | undefined {
  const blocks = blocksOf(source.split(/\r?\n/));
  if (blocks.length > 1) throw invalid('the script has two blocks `# /// script`');
  if (blocks[0] === undefined) return undefined;
  const parsed = metadataSchema.safeParse(parsedToml(blocks[0]));
  if (!parsed.success) throw invalid(`${parsed.error.issues[0]?.path.join('.')} is not of the right type`);
  const { dependencies, 'requires-python': requiresPython } = parsed.data;
  return { dependencies, ...(requiresPython === undefined ? {} : { requiresPython }) };
}

/** The text of each block, without its comment marks. A block ends at the last closing line of its comment. */
function blocksOf(lines: readonly string[]): string[] {
  const blocks: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at] !== OPENING) continue;
    let end = at + 1;
    while (end < lines.length && isComment(lines[end]!)) end += 1;
    const last = lines.lastIndexOf(CLOSING, end - 1);
    if (last <= at) {
      at = end - 1; // it is not closed, so it is an ordinary comment to its end
      continue;
    }
    blocks.push(
      lines
        .slice(at + 1, last)
        .map((line) => line.slice(2))
        .join('\n'),
    );
    at = last;
  }
  return blocks;
}

function isComment(line: string): boolean {
  return line === '#' || line.startsWith('# ');
}

function parsedToml(text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw invalid((error as Error).message.split('\n', 1)[0]!);
  }
}

function invalid(why: string): HotcellError {
  return new HotcellError('invalid_argument', `the inline metadata of the script is not valid: ${why}`, {
    remedy: 'Correct the comment between `# /// script` and `# ///` (PEP 723), or remove it.',
  });
}
