import * as z from 'zod';
import { HotcellError } from '../../errors/hotcell-error.ts';
import type { SessionInstalls } from '../installs.ts';
import { CallError, defineMethod, type Exchange, type Method } from '../method.ts';

export const INSTALL = 'packages.install';

const MOST_PACKAGES = 200;
/** Longer than any package: what is wrong with one that is too long is the installer's to say. */
const PACKAGE_CHARS = 1_000;
const HOUR_MS = 3_600_000;

/**
 * Installs packages into the session of the caller: the host resolves and builds them in another sandbox. SECURITY: the
 * packages are texts of any process of the sandbox, and go through the same checks as those of a caller of the library.
 */
export function packagesInstallMethod(installs: Pick<SessionInstalls, 'install'>): Method {
  return defineMethod({
    name: INSTALL,
    argument: z.strictObject({
      manager: z.enum(['pip', 'npm']),
      packages: z.array(z.string().max(PACKAGE_CHARS)).min(1).max(MOST_PACKAGES),
      upgrade: z.boolean().default(false),
    }),
    // Each step of an installation has a timeout of its own, which is shorter.
    limits: { argumentBytes: 262_144, argumentMembers: 1_000, durationMs: HOUR_MS },
    pausesClock: true,
    audit: ({ manager, packages }) => ({ manager, packages: packages.length }),
    serve: async (wanted, { caller, signal, write }) => {
      try {
        const watched = { ...wanted, signal, onProgress: createProgressLines(write) };
        const { installed, present, superseded, needsReset } = await installs.install(caller, watched);
        return { installed, present, superseded, needsReset };
      } catch (error) {
        throw error instanceof HotcellError ? withRemedy(error) : error;
      }
    },
  });
}

const MOST_LINES = 500;

/**
 * Writes one line for each step. SECURITY: a caller that reads none delays nothing and costs one line of memory: of the
 * steps meanwhile, it gets the last.
 */
function createProgressLines(write: Exchange['write']): (text: string) => void {
  let next: string | undefined;
  let isWriting = false;
  let left = MOST_LINES;
  async function writeAll(): Promise<void> {
    isWriting = true;
    while (next !== undefined && left > 0) {
      const line = Buffer.from(`${next}\n`);
      next = undefined;
      left -= 1;
      await write(line);
    }
    isWriting = false;
  }
  return (text) => {
    next = text;
    if (!isWriting) void writeAll().catch(() => {}); // the call has ended
  };
}

/** A program shows one text, so the message has the remedy in it. */
function withRemedy({ code, message, remedy }: HotcellError): CallError {
  const sentence = /[.!?]['"]?$/.test(message) ? message : `${message}.`;
  return new CallError(code.replaceAll('_', '-'), remedy === undefined ? message : `${sentence} ${remedy}`);
}
