import { open } from 'node:fs/promises';
import type { Clock } from '../../lib/clock.ts';
import { runCommand } from '../../lib/run-command.ts';
import type { SecretSource } from './upstream.ts';

/** Reads the secret of a credential. Rejects with an error that names where it was looked for, never what was found there. */
export type ReadSecret = (source: SecretSource, options: { signal: AbortSignal }) => Promise<string>;

/** A secret is kept for this long: a file that is replaced, or a command that gives short-lived ones, takes effect after it. */
const KEPT_MS = 60_000;
/** SECURITY: a failure is kept as well, or a session could run the operator's command in a loop. */
const FAILURE_KEPT_MS = 5_000;
const COMMAND_MS = 30_000;
const MOST_BYTES = 4096;
/**
 * SECURITY: a shorter secret could not be cut out of replies: it would be found in most of them. A character outside of printable ASCII could end a header.
 */
const SECRET = /^[\x20-\x7e]+$/;
const LEAST_CHARS = 8;

export function createReadSecret(environment: Readonly<Record<string, string | undefined>>, clock: Clock): ReadSecret {
  const kept = new Map<string, { readonly value: Promise<string>; readonly until: number }>();
  return (source) => {
    const key = JSON.stringify(source);
    const known = kept.get(key);
    if (known !== undefined && clock.now() < known.until) return known.value;
    // Not the caller's signal: others may wait for the same one.
    const value = readNow(source, environment).then(checked);
    kept.set(key, { value, until: clock.now() + KEPT_MS });
    value.catch(() => kept.set(key, { value, until: clock.now() + FAILURE_KEPT_MS }));
    return value;
  };
}

async function readNow(
  source: SecretSource,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if ('env' in source) {
    const value = environment[source.env];
    if (value === undefined || value === '') throw new Error(`the variable ${source.env} is not set`);
    return value;
  }
  if ('file' in source) return readSmallFile(source.file);
  const [program, ...args] = source.command as [string, ...string[]];
  const { exitCode, stdout } = await runCommand(program, args, { signal: AbortSignal.timeout(COMMAND_MS) });
  if (exitCode !== 0) throw new Error(`the command of the secret ended with ${exitCode}`);
  return stdout;
}

async function readSmallFile(path: string): Promise<string> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) throw new Error('the file of the secret cannot be read');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

function checked(text: string): string {
  const secret = text.trim();
  if (secret.length >= LEAST_CHARS && secret.length < MOST_BYTES && SECRET.test(secret)) return secret;
  throw new Error(`the secret is not one line of ${LEAST_CHARS} to ${MOST_BYTES - 1} printable ASCII characters`);
}
