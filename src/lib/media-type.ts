import mime from 'mime/lite';

/**
 * Media types by file extension. The content is not examined: it comes from the sandbox, and sniffing is how browsers
 * are fooled. SECURITY: a Map, because the name comes from the sandbox too, such as `x.__proto__`.
 */
const OURS: ReadonlyMap<string, string> = new Map<string, string>(
  Object.entries({
    parquet: 'application/vnd.apache.parquet',
    arrow: 'application/vnd.apache.arrow.file',
    ipynb: 'application/x-ipynb+json',
    npy: 'application/octet-stream',
    py: 'text/x-python',
    ts: 'text/plain',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  }),
);

export function mediaTypeOf(path: string): string {
  const extension = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  return OURS.get(extension) ?? mime.getType(path) ?? 'application/octet-stream';
}
