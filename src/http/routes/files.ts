import { type NamedFile, parseFilePath } from '../../artifacts/file-path.ts';
import { verifySignedPath } from '../../artifacts/signed-url.ts';
import type { ManagedSession, Owner, SessionDirectory } from '../../directory/directory.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { quotedName } from '../../lib/said-inside.ts';
import type { HttpApp, HttpContext } from '../environment.ts';
import { fileHeaders } from '../file-headers.ts';
import { wantedBytes } from '../range.ts';
import { bodyPieces } from '../read-body.ts';
import { requireSameSite } from '../same-site.ts';
import { sendFile } from '../send-file.ts';

export interface FilesOptions {
  readonly sessions: SessionDirectory;
  readonly linkKey: Buffer;
  /** Authenticates a request by its `Authorization` header. Rejects if that fails. */
  authorize(context: HttpContext): Promise<Owner>;
  /** The owner of a link, if it is still authorised. */
  ownerOfLink(id: string, context: HttpContext): Promise<Owner | undefined>;
  /** Whether every file needs a signature or a token, even for clients on this machine. */
  readonly signedOnly: boolean;
  now(): number;
  /** The timeout of a stalled transfer. */
  readonly stallMs: number;
}

/**
 * `/files/{session}/{path}`: reads a file of a workspace with GET or HEAD and writes it with PUT. Files of any size are
 * streamed.
 */
export function addFilesRoutes(app: HttpApp, options: FilesOptions): void {
  app.on(['GET', 'HEAD'], '/files/*', async (context) => {
    const file = await readable(context, options);
    return download(context, file, options.stallMs);
  });

  app.put('/files/*', async (context) => {
    const { session: id, path } = named(context);
    requireProof(context, options);
    const owner = await options.authorize(context);
    requireSameSite(context, ASK_AGAIN);
    const declared = Number(context.req.header('content-length') ?? 0);
    if (declared > owner.quotas.uploadBytes) throw tooLarge(path, owner.quotas.uploadBytes);
    const session = await options.sessions.use(owner, id, { via: 'PUT /files' });
    const mode = context.req.header('if-none-match') === '*' ? 'create' : 'replace';
    const { incoming } = context.env;
    const { sizeBytes } = await session.session.files.write(path, bodyPieces(incoming, options), { mode });
    return context.json({ session_id: session.id, path, size_bytes: sizeBytes }, 201);
  });

  app.all('/files/*', () => {
    throw new HotcellError('method_not_allowed', 'files are read with GET or HEAD and written with PUT', {
      remedy: 'To delete a file, run code in the session.',
    });
  });
}

interface ReadableFile {
  readonly session: ManagedSession;
  readonly path: string;
  /** The route for the audit log, if the reader is not the owner. */
  readonly via?: string;
}

/** Authorises a read: by a signed link, or by the sender of the request. */
async function readable(context: HttpContext, options: FilesOptions): Promise<ReadableFile> {
  const { session: id, path } = named(context);
  if (context.req.query('signature') !== undefined) {
    return { session: await linked(context, options), path, via: 'signed link' };
  }
  requireProof(context, options);
  const owner = await options.authorize(context);
  requireSameSite(context, ASK_AGAIN);
  return { session: await options.sessions.use(owner, id, { via: 'GET /files' }), path };
}

/**
 * SECURITY: if a signed link is required, being on this machine proves nothing. A link can only read; writing needs a
 * token.
 */
function requireProof(context: HttpContext, { signedOnly }: FilesOptions): void {
  if (!signedOnly || context.req.header('authorization') !== undefined) return;
  throw new HotcellError('unauthorized', 'a signed link is required', { remedy: ASK_AGAIN });
}

async function linked(context: HttpContext, options: FilesOptions): Promise<ManagedSession> {
  const link = verifySignedPath(options.linkKey, pathAndQuery(context), options.now());
  if (link === 'tampered') throw new HotcellError('link_invalid', 'this link is not valid', { remedy: ASK_AGAIN });
  if (link === 'expired') throw new HotcellError('link_expired', 'this link has expired', { remedy: ASK_AGAIN });
  const owner = await options.ownerOfLink(link.owner, context);
  const session = options.sessions.find(link.uniqueId);
  if (owner === undefined || session?.owner !== link.owner) {
    throw new HotcellError('session_not_found', 'the session of this link no longer exists', { remedy: ASK_AGAIN });
  }
  return session;
}

async function download(
  context: HttpContext,
  { session: { session }, path, via }: ReadableFile,
  stallMs: number,
): Promise<Response> {
  const { sizeBytes } = await session.files.stat(path);
  const wanted = wantedBytes(context.req.header('range'), context.req.header('if-range'), sizeBytes);
  const headers = fileHeaders(path);
  if (wanted === 'unsatisfiable') {
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${sizeBytes}` } });
  }
  const { offset, length } = wanted === 'all' ? { offset: 0, length: sizeBytes } : wanted;
  const partial = { 'content-range': `bytes ${offset}-${offset + length - 1}/${sizeBytes}` };
  const status = wanted === 'all' ? 200 : 206;
  const answer = { status, headers: wanted === 'all' ? headers : { ...headers, ...partial }, length };
  if (context.req.method === 'HEAD') {
    return new Response(null, { status, headers: { ...answer.headers, 'content-length': String(length) } });
  }
  return sendFile(
    context.env.outgoing,
    { ...answer, pieces: session.files.stream(path, { offset, length, ...(via === undefined ? {} : { via }) }) },
    { stallMs },
  );
}

function named(context: HttpContext): NamedFile {
  const file = parseFilePath(pathAndQuery(context).split('?')[0] ?? '');
  if (file === undefined) {
    throw new HotcellError('bad_path', 'this is not the URL of a file', {
      remedy: 'Use /files/{session}/{path}, with each part of the path percent-encoded.',
    });
  }
  return file;
}

/** The raw path and query. SECURITY: a parsed URL has `..` and its encodings resolved already. */
function pathAndQuery(context: HttpContext): string {
  return context.env.incoming.url ?? '';
}

const ASK_AGAIN = 'Request a new link.';

function tooLarge(path: string, limitBytes: number): HotcellError {
  return new HotcellError('file_too_large', `${quotedName(path)} is larger than the limit of ${limitBytes} bytes`, {
    remedy: 'Send it in parts, or ask the operator of the server to raise --max-upload.',
    data: { limitBytes },
  });
}
