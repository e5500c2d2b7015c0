import type { GuestConnection } from '../guest/connection.ts';
import { commandsReply } from '../guest/messages.ts';
import { rethrowAsOurs } from '../guest/refusals.ts';
import { hintFor, type Languages } from '../languages/table.ts';

/** The status of one language in one sandbox. */
export interface LanguageStatus {
  readonly name: string;
  readonly extensions: readonly string[];
  /** Whether executions see the state that earlier ones of the same language left. */
  readonly keepsState: boolean;
  readonly available: boolean;
  /** Commands that this sandbox lacks, and the remedy. */
  readonly missing: readonly string[];
  readonly hint?: string;
}

/**
 * Asks the guest which commands of the languages are installed. They are looked up on request, never at the start of a
 * sandbox.
 */
export async function languageStatuses(connection: GuestConnection, languages: Languages): Promise<LanguageStatus[]> {
  const names = [...new Set(languages.flatMap(({ needs }) => needs))];
  const { result } = await connection.request({ type: 'commands', names }, commandsReply).catch(rethrowAsOurs);
  const missing = new Set(result.missing);
  return languages.map((language) => {
    const lacks = language.needs.filter((name) => missing.has(name));
    return {
      name: language.name,
      extensions: language.extensions,
      keepsState: language.keepsState,
      available: lacks.length === 0,
      missing: lacks,
      ...(lacks.length === 0 ? {} : { hint: hintFor(language) }),
    };
  });
}
