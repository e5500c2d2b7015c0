import type { SessionDirectory } from './directory.ts';
import { shuttingDownError } from './shutting-down.ts';

/**
 * A directory that is created on first use. Clients start some servers only to list their tools; those take no lock,
 * create no folder and load no driver.
 */
export function createLazyDirectory(
  open: () => Promise<SessionDirectory>,
  /** Whether any session survived another server. Only then does `recall` need a directory. */
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
      opening = undefined; // the next call tries again
      throw error;
    }
    return opened;
  }

  return {
    open: async (owner, request, options) => (opened ?? (await directory())).open(owner, request, options),
    use: async (owner, id, options) => (opened ?? (await directory())).use(owner, id, options),
    close: async (owner, id, options) => (opened ?? (await directory())).close(owner, id, options),
    endLeft: async (which) => (opened ?? (await directory())).endLeft(which),
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
