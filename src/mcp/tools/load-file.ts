import { extname, posix } from 'node:path';
import * as z from 'zod';
import type { ManagedSession } from '../../directory/directory.ts';
import { HotcellError, toHotcellError } from '../../errors/hotcell-error.ts';
import { inOneLine, quotedName } from '../../lib/said-inside.ts';
import { defineTool, type ToolCall } from '../define-tool.ts';
import { type Found, type HostFiles, tooLarge } from '../host-files/index.ts';
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
  description: `Copies a file, a folder or all files that match a pattern from the user's machine into the sandbox. The content does not pass through you, so size does not matter: use this for the user's data rather than reading it and writing it again.

  {"source": "~/Downloads/sales.csv"}                           becomes sales.csv in the workspace
  {"source": "~/project/data", "target": "data"}                a folder with all below it
  {"source": "~/logs/2026-*.log", "target": "logs"}             a pattern: * ? [a-z] **
  {"source": "~/Downloads/sales.csv", "variable": "sales"}      a pandas DataFrame in the Python session (csv, parquet), a dict or list (json), else text or bytes

Only below folders that the user allows; never keys, tokens or hidden files of the home folder.`,
  input: z.strictObject({
    source: z.string().min(1).max(4096).describe('Path on the user’s machine; ~ is the home folder'),
    target: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe('Path in the workspace: of the file, or of the folder that several go into. Default: the same name'),
    variable: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, { error: 'not a name of a Python variable' })
      .optional()
      .describe('Make a Python variable of it instead of a file'),
    as: z.enum(FORMATS).optional().describe('What the variable is made of; by default the file name decides'),
    session_id: sessionArgument,
  }),
  output: z.object({
    session_id: z.string(),
    files: z.array(z.object({ path: z.string(), size_bytes: z.number().int() })).describe('At most 100 of them'),
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
    if (hostFiles === undefined) throw new HotcellError('not_offered', 'files of the host are not offered here');
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
    return await hostFiles.find(source, { signal: call.signal });
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
      hostFiles.stream(file, room, { signal: call.signal }),
      { mode: 'replace' },
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
    content: [{ type: 'text' as const, text: ['In the workspace now:', ...names, ...more].join('\n') }],
  };
}

/** `data/` and `.` name a folder to put it into; anything else is the file itself. */
function oneTarget(name: string, target: string | undefined): string {
  if (target === undefined || target === '.') return name;
  return target.endsWith('/') ? posix.join(target, name) : target;
}

async function intoVariable(
  managed: ManagedSession,
  { hostFiles, found }: Loading,
  { name, as }: { name: string; as: (typeof FORMATS)[number] | undefined },
  { deps, signal }: ToolCall,
) {
  const [file] = found.files;
  if (file === undefined || found.files.length > 1) {
    throw new HotcellError('invalid_argument', `source: ${found.files.length} files do not fit into one variable`, {
      remedy: 'Load them into the workspace and read them with run_code.',
    });
  }
  const format = as ?? BY_EXTENSION[extname(file.name).toLowerCase()] ?? 'bytes';
  const pieces = hostFiles.stream(file, deps.owner.quotas.uploadBytes, { signal });
  const { type, summary } = await managed.session.variables
    .set(name, pieces, { as: format, signal })
    .catch((thrown: unknown) => {
      const error = toHotcellError(thrown);
      if (error.code === 'invalid_argument') throw unusable(name);
      throw error.code === 'evaluation_failed' ? unreadable(error, format) : error;
    });
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

/** `class`, `None`: only the sandbox's own Python knows them all. */
function unusable(name: string): HotcellError {
  return new HotcellError(
    'invalid_argument',
    `variable: ${quotedName(name)} is not a name that a Python variable can have`,
    {
      remedy: 'Choose another name.',
    },
  );
}

function unreadable({ code, message }: HotcellError, format: string): HotcellError {
  return new HotcellError(code, message, {
    remedy: `It was read as ${format}. Say with \`as\` what it is, or load it as a file and read it with run_code.`,
  });
}
