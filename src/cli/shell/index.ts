import { refuseMixed, type ShellFlags } from './flags.ts';

/**
 * A terminal in a session of a server or, without a session, in a new local sandbox. Returns the exit code of the
 * command.
 */
export async function shell(session: string | undefined, words: readonly string[], flags: ShellFlags): Promise<number> {
  refuseMixed(session, words, flags);
  if (session === undefined) return (await import('./in-own-sandbox.ts')).shellInOwnSandbox(flags);
  return (await import('./on-server.ts')).shellOnServer(session, words, flags);
}
