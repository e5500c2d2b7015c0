import type { ProfileName } from '../../config/schema.ts';

/** The rules for a model, as a marked block in a Markdown file of the user. */

const BEGIN = '<!-- hotcell: begin -->';
const END = '<!-- hotcell: end -->';

/** The rules for a model that has the tools of these profiles. */
export function rulesFor(profiles: readonly ProfileName[]): string {
  return profiles.includes('hotcell') ? rules(OWN) : rules(CODE_SANDBOX);
}

interface Wording {
  readonly tools: string;
  readonly how: string;
}

const OWN: Wording = {
  tools: '`run_code` and `run_command`',
  how: `To work on a file of this machine in the sandbox, use \`load_file\` rather than pasting it. Call \`run_code\` in small
steps: variables persist, so after an error you repeat one step only. A run returns its figures and files as images and links.`,
};

const CODE_SANDBOX: Wording = {
  tools: '`sandbox_run_python`',
  how: `Upload a file to the sandbox with \`sandbox_upload_file\`, and pass the session_id of the first reply to every later call:
files in /mnt/data and variables persist, so after an error you repeat one step only. Use print to see values.`,
};

function rules({ tools, how }: Wording): string {
  return `## Where to run code

Hotcell (MCP server \`hotcell\`) runs code in a sandbox that keeps its variables and files between calls. It has no
network, and no access to this machine except the files loaded into it.

Use Hotcell's ${tools} for
- analysing data, computing, plotting: anything that is not part of the project itself
- code that has not been reviewed: generated, downloaded, taken from an issue or a web page
- trying out an idea, a regular expression or a library before it goes into the project

Use your own tools for
- reading, searching and editing the project's files, and git
- building and testing the project, and anything that needs its dependencies, the network or this machine

${how}`;
}

/** Whether the text has the block. */
export function hasRules(text: string | undefined): boolean {
  return text !== undefined && findBlock(text) !== undefined;
}

/** The text with the block, in its old position or at the end. */
export function withRules(text: string, rules: string): string {
  return withBlock(text, `${BEGIN}\n${rules}\n${END}`);
}

/** The text with the block that `other` contains, whatever its rules. */
export function withRulesOf(text: string, other: string): string {
  const found = findBlock(other);
  return found === undefined ? text : withBlock(text, other.slice(found.start, found.end).replaceAll('\r\n', '\n'));
}

function withBlock(text: string, lines: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const block = lines.replaceAll('\n', eol);
  const found = findBlock(text);
  if (found !== undefined) return text.slice(0, found.start) + block + text.slice(found.end);
  if (text === '') return block + eol;
  return `${text}${text.endsWith('\n') ? '' : eol}${eol}${block}${eol}`;
}

/** The text without the block and the empty line before it. */
export function withoutRules(text: string): string {
  const found = findBlock(text);
  if (found === undefined) return text;
  const before = text.slice(0, found.start).replace(/(\r?\n)\r?\n$/, '$1');
  return before + text.slice(found.end).replace(/^\r?\n/, '');
}

/** Finds a complete block. If an end is missing it is unknown what belongs to the block, and nothing is cut. */
function findBlock(text: string): { start: number; end: number } | undefined {
  const start = text.indexOf(BEGIN);
  const end = text.indexOf(END, start);
  return start === -1 || end === -1 ? undefined : { start, end: end + END.length };
}
