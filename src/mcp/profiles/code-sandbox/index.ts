import { type CodeSandboxSettings, codeSandboxSettings } from '../../../config/profiles/code-sandbox.ts';
import { LARGEST_MESSAGE_BYTES } from '../../stdio/message-lines.ts';
import { defineProfile } from '../define-profile.ts';
import { codeSandboxTools } from './tools.ts';

/** The five tools of mcp-code-sandbox on Hotcell's sessions: docs/guides/coming-from-code-sandbox.md. */
export const codeSandbox = defineProfile(codeSandboxSettings, (settings) => ({
  tools: codeSandboxTools(settings),
  instructions: INSTRUCTIONS,
  largestMessageBytes: uploadMessageBytes(settings),
  signedFilesOnly: true,
}));

const INSTRUCTIONS = `Runs Python in sandboxes without a network. sandbox_upload_file uploads data to /mnt/data of a session, sandbox_run_python runs code there. Pass the session_id of the first reply to every later call. If code fails, read stderr, fix the code and run it again in the same session: files and variables persist. Save charts and results to /mnt/data; sandbox_read_artifact reads them, download_url is a link for the user. pandas, numpy, matplotlib, seaborn, scipy, openpyxl, reportlab and pyarrow are installed. Call sandbox_close_session when you are done.`;

/**
 * Message limit: the largest upload in base64, with room for an error about one that is slightly too large; never below
 * the usual limit.
 */
function uploadMessageBytes({ maxUploadBytes }: CodeSandboxSettings): number {
  return Math.max(LARGEST_MESSAGE_BYTES, Math.ceil((maxUploadBytes * 4) / 3) + ROOM_BYTES);
}

const ROOM_BYTES = 16 * 1_048_576;
