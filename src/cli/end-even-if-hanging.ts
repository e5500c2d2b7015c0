/** How long a server that has cleaned up may take to exit, for output that is not written yet. */
const GRACE_MS = 2_000;

/**
 * Ends this process if it does not exit by itself. Call it when everything is cleaned up. SECURITY: a thread that waits
 * for a file system that never answers (another user's FUSE, a dead NFS server) keeps the process alive, and
 * `process.exit` waits for that thread, too. Only SIGKILL does not.
 */
export function endEvenIfHanging(): void {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), GRACE_MS).unref();
}
