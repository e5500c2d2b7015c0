import * as z from 'zod';
import type { CodeSandboxSettings } from '../../../config/profiles/code-sandbox.ts';
import { quotedName } from '../../../lib/said-inside.ts';
import { defineTool, type Tool, type ToolReply } from '../../define-tool.ts';
import type { McpDeps } from '../../deps.ts';
import { latestOutput } from '../../present/latest-output.ts';
import { resultBytes } from '../../result-bytes.ts';
import { cancelledWith } from '../../run-in-session.ts';
import { checkedFilename, checkedPath } from './arguments.ts';
import { artifact, artifactOf, DATA_FOLDER, filesOf } from './artifacts.ts';
import { decodedContent } from './decoded-content.ts';
import { Failure, failureResult, inRun } from './failures.ts';
import { newRunId, runReply } from './run-reply.ts';
import { inSession, useOpen } from './sessions.ts';

/**
 * The five tools of mcp-code-sandbox: its names, parameters, defaults, replies and errors, on Hotcell's sessions. In
 * addition, variables persist between the runs of a session.
 */
export function codeSandboxTools(settings: CodeSandboxSettings): readonly Tool[] {
  const uploadFile = defineTool({
    name: 'sandbox_upload_file',
    title: 'Upload a file',
    description: `Uploads a data file (CSV, Excel, JSON, …) into a session as /mnt/data/<filename>. Without session_id it opens a new session; the reply has its id, which you pass to the other tools.

  {"filename": "sales.csv", "content_base64": "bW9udGgs…"}

If the file exists, the call fails with file_exists, unless overwrite is true.`,
    input: z.object({
      filename: z.string().describe('File name, without folders'),
      content_base64: z.string(),
      session_id: optionalSession,
      overwrite: z.boolean().default(false),
    }),
    output: z.object({ session_id: z.string(), path: z.string() }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    isStructured: true,
    failed: failureResult,
    async handler({ filename, content_base64, session_id, overwrite }, call) {
      const name = checkedFilename(filename);
      // SECURITY: one computation per owner at a time, or the slices of many concurrent uploads would add up and block
      // the server.
      const release = await call.deps.computing.take(call.deps.owner.id, { signal: call.signal });
      const content = await decodedContent(content_base64, settings.maxUploadBytes).finally(release);
      return inSession(session_id, { settings, call, via: 'sandbox_upload_file' }, async (managed) => {
        await managed.session.files.write(name, content, {
          mode: overwrite ? 'replace' : 'create',
          signal: call.signal,
        });
        return asJson({ session_id: managed.id, path: `${DATA_FOLDER}/${name}` });
      });
    },
  });

  const runPython = defineTool({
    name: 'sandbox_run_python',
    title: 'Run Python',
    description: `Runs Python in a session and returns exit_code, stdout, stderr and the files that the run created or changed in /mnt/data, each with a download_url. Read and write files there. Use print: the value of the last line is not shown. Save charts with plt.savefig('/mnt/data/chart.png').

Without session_id it opens a new session; pass the id of the reply to continue there: files and variables persist. After an error, fix the code and run it again in the same session. There is no network. The timeout is ${settings.execTimeoutS} seconds; exit_code -1 means that the run timed out.`,
    input: z.object({ code: z.string(), session_id: optionalSession }),
    output: z.object({
      session_id: z.string(),
      run_id: z.string(),
      exit_code: z.number().int(),
      stdout: z.string(),
      stderr: z.string(),
      stdout_truncated: z.boolean(),
      stderr_truncated: z.boolean(),
      artifacts: z.array(artifact),
      duration_ms: z.number().int(),
    }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    isLong: true,
    isStructured: true,
    failed: failureResult,
    async handler({ code, session_id }, call) {
      requireSize(code, settings.maxCodeBytes);
      const runId = newRunId(new Date());
      return inSession(session_id, { settings, call, via: 'sandbox_run_python' }, async (managed) => {
        const execution = managed.run(code, {
          timeoutMs: settings.execTimeoutS * 1000,
          busy: 'refuse',
          via: 'sandbox_run_python',
        });
        return cancelledWith(call.signal, execution, async () => {
          call.reportWith(() => latestOutput(execution));
          const result = await inRun(execution.result);
          await call.turn(resultBytes(result));
          return asJson(await runReply(managed, { runId, result }, settings, call.deps.links));
        });
      });
    },
  });

  const readArtifact = defineTool({
    name: 'sandbox_read_artifact',
    title: 'Read a file back',
    description: `Reads a file of a session as base64. path has the form that the other tools return: /mnt/data/chart.png. A file of more than ${settings.maxArtifactReadBytes} bytes, or more than fits into one message, fails with artifact_too_large, which has the download_url.`,
    input: z.object({ session_id: z.string(), path: z.string() }),
    output: z.object({
      path: z.string(),
      filename: z.string(),
      mime_type: z.string(),
      size_bytes: z.number().int(),
      content_base64: z.string(),
    }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    isStructured: true,
    failed: failureResult,
    async handler({ session_id, path }, call) {
      const name = checkedPath(path);
      const managed = await useOpen(session_id, call, 'sandbox_read_artifact');
      const { sizeBytes } = await managed.session.files.stat(name, { signal: call.signal });
      const { download_url, ...found } = await artifactOf(managed, { path: name, sizeBytes }, call.deps.links);
      const limitBytes = Math.min(settings.maxArtifactReadBytes, readableBytes(call.deps));
      if (sizeBytes > limitBytes) {
        const message = `${quotedName(found.path)} has ${sizeBytes} bytes, more than the limit of ${limitBytes} bytes for a reply. Use download_url.`;
        throw new Failure('artifact_too_large', message, { sizeBytes, downloadUrl: download_url });
      }
      await call.placeForFile();
      const content = await managed.session.files.read(name, { limitBytes, signal: call.signal });
      await call.turn(content.length);
      return asJson({ ...found, size_bytes: content.length, content_base64: content.toString('base64') });
    },
  });

  const listArtifacts = defineTool({
    name: 'sandbox_list_artifacts',
    title: 'List files',
    description: 'Lists all files of a session, in /mnt/data and the folders below it, each with a download_url.',
    input: z.object({ session_id: z.string() }),
    output: z.object({ artifacts: z.array(artifact) }),
    annotations: { readOnlyHint: true, openWorldHint: false },
    isStructured: true,
    failed: failureResult,
    async handler({ session_id }, call) {
      const managed = await useOpen(session_id, call, 'sandbox_list_artifacts');
      return asJson({ artifacts: await filesOf(managed, call) });
    },
  });

  const closeSession = defineTool({
    name: 'sandbox_close_session',
    title: 'Close a session',
    description:
      'Closes a session and deletes its sandbox with all files. First read or download the files that you want to keep.',
    input: z.object({ session_id: z.string() }),
    output: z.object({ status: z.literal('closed') }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    isStructured: true,
    failed: failureResult,
    async handler({ session_id }, call) {
      const managed = await useOpen(session_id, call, 'sandbox_close_session');
      await call.deps.directory.close(call.deps.owner, managed.id, { via: 'sandbox_close_session' });
      return asJson({ status: 'closed' as const });
    },
  });

  return [runPython, uploadFile, readArtifact, listArtifacts, closeSession];
}

const optionalSession = z
  .string()
  .nullable()
  .default(null)
  .describe('Id from an earlier reply, or one that you choose. Default: open a new session');

function requireSize(code: string, limitBytes: number): void {
  const sizeBytes = Buffer.byteLength(code);
  if (sizeBytes <= limitBytes) return;
  throw new Failure('code_too_large', `the code has ${sizeBytes} bytes, more than the limit of ${limitBytes} bytes`, {
    sizeBytes,
  });
}

/**
 * Largest file that fits into a reply, which holds it twice in base64, as text and as data. SECURITY: a reply that is
 * too large ends the client's connection, and all sessions with it.
 */
function readableBytes({ largestReplyBytes = Number.POSITIVE_INFINITY }: McpDeps): number {
  return Math.floor(((largestReplyBytes - ROOM_BYTES) / 2) * (3 / 4));
}

const ROOM_BYTES = 65_536;

/** A reply whose text is the JSON itself, which clients of mcp-code-sandbox parse. */
function asJson<Structured>(structured: Structured): ToolReply<Structured> {
  return { structured, content: [{ type: 'text', text: JSON.stringify(structured) }] };
}
