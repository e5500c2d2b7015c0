import type { SessionDirectory } from './directory.ts';
import { shuttingDownError } from './shutting-down.ts';

/**
 * A directory that is made when it is first needed. For servers that clients start only to look at: what nobody uses takes no lock, makes no folder and loads no
 * driver.
 */
export function createLazyDirectory(
  open: () => Promise<SessionDirectory>,
  /** Whether there is anything that outlived another server: only then is a directory needed to bring it back. */
  mayRecall: () => Promise<boolean>,
): SessionDirectory {
  let opening: Promise<SessionDirectory> | undefined;
  let opened: SessionDirectory | undefined;
  let shuttingDown: Promise<void> | undefined;

  async function directory(): Promise<SessionDirectory> {
    if (shuttingDown !== undefined) throw shuttingDownError();
    opening ??= open();
    try {
      opened = await opening;
    } catch (error) {
      opening = undefined; // what stood in its way may be gone at the next call
      throw error;
    }
    return opened;
  }

  return {
    open: async (owner, request, options) => (opened ?? (await directory())).open(owner, request, options),
    use: async (owner, id, options) => (opened ?? (await directory())).use(owner, id, options),
    close: async (owner, id, options) => (opened ?? (await directory())).close(owner, id, options),
    closeAll: async (owner) => opened?.closeAll(owner),
    recall: async (owner) => {
      if (opened !== undefined || (await mayRecall())) await (opened ?? (await directory())).recall(owner);
    },
    list: (owner) => opened?.list(owner) ?? [],
    known: (owner, id) => opened?.known(owner, id),
    withExecution: (owner, executionId) => opened?.withExecution(owner, executionId),
    find: (uniqueId) => opened?.find(uniqueId),
    census: () => opened?.census() ?? [],
    shutdown: () => {
      shuttingDown ??= (async () => {
        const late = await opening?.catch(() => undefined);
        await late?.shutdown();
      })();
      return shuttingDown;
    },
  };
}
