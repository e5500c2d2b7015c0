import { extname, posix } from 'node:path';
import * as z from 'zod';
import type { ManagedSession } from '../../directory/directory.ts';
import { HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { inOneLine, quotedName } from '../../lib/said-inside.ts';
import { defineTool, type ToolCall } from '../define-tool.ts';
import { type Found, type HostFiles, tooLarge } from '../host-files/index.ts';
import { shortSummary } from '../present/short-summary.ts';
import { textBlocks } from '../present/text-blocks.ts';
import { sessionArgument } from './session-argument.ts';

const FORMATS = ['text', 'bytes', 'json', 'csv', 'parquet'] as const;
const BY_EXTENSION: Readonly<Record<string, (typeof FORMATS)[number]>> = {
  ...{ '.csv': 'csv', '.parquet': 'parquet', '.json': 'json' },
  ...{ '.txt': 'text', '.md': 'text', '.html': 'text', '.py': 'text', '.xml': 'text', '.yaml': 'text', '.log': 'text' },
};

export const loadFile = defineTool({
  name: 'load_file',
  title: 'Load files from this machine',
  description: `Copies files from the user's machine into the sandbox. Their content does not pass through you, so size does not matter: prefer this to reading a file and writing it again.

  {"source": "~/Downloads/sales.csv"}                        to sales.csv in the workspace
  {"source": "~/project/data", "target": "data"}             a folder with all below it
  {"source": "~/logs/2026-*.log", "target": "logs"}          a pattern: * ? [a-z] **
  {"source": "~/Downloads/sales.csv", "variable": "sales"}   a Python variable: a DataFrame (csv, parquet), dict or list (json), else text or bytes

Works below folders that the user allows, never for keys, tokens or hidden files of the home folder.`,
  input: z.strictObject({
    source: z.string().min(1).max(4096).describe('Path or pattern on the user’s machine'),
    target: z.string().min(1).max(4096).optional().describe('File or folder in /workspace. Default: the same name'),
    variable: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, { error: 'not a valid name of a Python variable' })
      .optional()
      .describe('Python variable to load into, instead of a file'),
    as: z.enum(FORMATS).optional().describe('Format, for variable. Default: by extension'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    files: z.array(z.object({ path: z.string(), size_bytes: z.number().int() })).describe('The first 100 files'),
    file_count: z.number().int(),
    total_bytes: z.number().int(),
    variable: z.object({ name: z.string(), type: z.string(), summary: z.string() }).optional(),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  isLong: true,
  needsHostFiles: true,
  async handler({ source, target, variable, as, session_id }, call) {
    const { directory, owner, hostFiles } = call.deps;
    const limitBytes = owner.quotas.uploadBytes;
    if (hostFiles === undefined)
      throw new HotcellError('not_offered', 'loading files of the host is not available here');
    const managed = await directory.use(owner, session_id, { signal: call.signal, via: 'load_file' });
    const found = await allowed(hostFiles, source, managed, call);
    const totalBytes = found.files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    if (totalBytes > limitBytes) throw tooLarge(source, limitBytes);
    const loading = { hostFiles, found };
    if (variable !== undefined) return intoVariable(managed, loading, { name: variable, as }, call);
    return intoWorkspace(managed, loading, target, call);
  },
});

async function allowed(hostFiles: HostFiles, source: string, managed: ManagedSession, call: ToolCall) {
  const { owner, feed } = call.deps;
  try {
    return await hostFiles.find(source, { owner: owner.id, signal: call.signal });
  } catch (thrown) {
    const { code } = toHotcellError(thrown);
    feed.emit({ event: 'refused', owner: owner.id, session: managed.uniqueId, via: 'load_file', refusal: code });
    throw thrown;
  }
}

/** Files of the host that were found, and how to read them. */
interface Loading {
  readonly hostFiles: HostFiles;
  readonly found: Found;
}

async function intoWorkspace(
  managed: ManagedSession,
  { hostFiles, found }: Loading,
  target: string | undefined,
  call: ToolCall,
) {
  const files: { path: string; size_bytes: number }[] = [];
  let room = call.deps.owner.quotas.uploadBytes;
  call.reportWith(() => `${files.length} of ${found.files.length} files copied`);
  for (const file of found.files) {
    const path = found.kind === 'one' ? oneTarget(file.name, target) : posix.join(target ?? '.', file.name);
    const { sizeBytes } = await managed.session.files.write(
      path,
      hostFiles.stream(file, room, { owner: call.deps.owner.id, signal: call.signal }),
      { mode: 'replace', signal: call.signal },
    );
    room -= sizeBytes;
    files.push({ path, size_bytes: sizeBytes });
  }
  const totalBytes = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const names = files
    .slice(0, 20)
    .map(({ path, size_bytes }) => `  ${quotedName(path)} (${size_bytes.toLocaleString('en-US')} bytes)`);
  const more = files.length > names.length ? [`  and ${files.length - names.length} more`] : [];
  return {
    structured: {
      session_id: managed.id,
      files: files.slice(0, 100),
      file_count: files.length,
      total_bytes: totalBytes,
    },
    content: [{ type: 'text' as const, text: ['Copied into the workspace:', ...names, ...more].join('\n') }],
  };
}

/**
 * The target path of one file: `data/` and `.` name the folder to put it into; anything else is the path of the file.
 */
function oneTarget(name: string, target: string | undefined): string {
  if (target === undefined || target === '.') return name;
  return target.endsWith('/') ? posix.join(target, name) : target;
}

async function intoVariable(
  managed: ManagedSession,
  { hostFiles, found }: Loading,
  { name, as }: { name: string; as: (typeof FORMATS)[number] | undefined },
  { deps, signal, turn }: ToolCall,
) {
  const [file] = found.files;
  if (file === undefined || found.files.length > 1) {
    throw new HotcellError('invalid_argument', `source: ${found.files.length} files cannot become one variable`, {
      remedy: 'Load them into the workspace and read them with run_code.',
    });
  }
  const format = as ?? BY_EXTENSION[extname(file.name).toLowerCase()] ?? 'bytes';
  const pieces = hostFiles.stream(file, deps.owner.quotas.uploadBytes, { owner: deps.owner.id, signal });
  const loaded = await managed.session.variables.set(name, pieces, { as: format, signal }).catch((thrown: unknown) => {
    const error = toHotcellError(thrown);
    if (error.code === 'invalid_argument') throw unusable(name);
    throw error.code === 'evaluation_failed' ? unreadable(error, format) : error;
  });
  const { type, summary } = shortSummary(loaded);
  await turn(type.length + summary.length);
  return {
    structured: {
      session_id: managed.id,
      files: [],
      file_count: 1,
      total_bytes: file.sizeBytes,
      variable: { name, type, summary },
    },
    content: textBlocks(`Loaded into the variable ${name}.`, `${inOneLine(type)}: ${inOneLine(summary)}`),
  };
}

/** The error for keywords (`class`, `None`): only the Python of the sandbox knows all of them. */
function unusable(name: string): HotcellError {
  return new HotcellError(
    'invalid_argument',
    `variable: ${quotedName(name)} is not a valid name of a Python variable`,
    {
      remedy: 'Choose another name.',
    },
  );
}

function unreadable({ code, message }: HotcellError, format: string): HotcellError {
  return new HotcellError(code, message, {
    remedy: `The file was parsed as ${format}. Set its format with \`as\`, or load it as a file and read it with run_code.`,
  });
}
