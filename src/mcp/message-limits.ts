/**
 * Maximum lengths of identifiers. SECURITY: each is repeated: ids in answers, tokens in every progress notification,
 * names and URIs in errors and patterns.
 */
const LONGEST = { id: 256, method: 256, name: 256, cursor: 1_024, uri: 16_384, progressToken: 256 };

/**
 * Maximum characters of a message without a tool's arguments, which have limits of their own and are checked at once.
 * SECURITY: the rest, `_meta` above all, is kept while the call waits, and the members of `initialize` while the client
 * is connected.
 */
const MAX_CHARS_BESIDES_ARGUMENTS = 20_000;

/** Describes the first oversized member of a JSON-RPC message or batch, valid or not. */
export function oversizedIn(message: unknown): string | undefined {
  if (Array.isArray(message)) return firstOf(message);
  const { id, method, params } = asRecord(message);
  const { name, uri, cursor, ref, _meta } = asRecord(params);
  const { name: refName, uri: refUri } = asRecord(ref);
  const { progressToken } = asRecord(_meta);
  return (
    tooLong({ id, method, name, uri, cursor, progressToken }) ??
    tooLong({ name: refName, uri: refUri }) ??
    tooMuchBesideArguments(asRecord(message))
  );
}

function tooMuchBesideArguments(message: Readonly<Record<string, unknown>>): string | undefined {
  const isCall = message.method === 'tools/call';
  const params = asRecord(message.params);
  const rest = isCall ? { ...message, params: { ...params, arguments: undefined } } : message;
  if (charsIn(rest, MAX_CHARS_BESIDES_ARGUMENTS) <= MAX_CHARS_BESIDES_ARGUMENTS) return undefined;
  return `more than ${MAX_CHARS_BESIDES_ARGUMENTS} characters beside the arguments of a tool`;
}

/** Characters of a number, a boolean or null, or of the punctuation around a string or a list. */
const SIGNS = 4;

/**
 * Counts the characters of a parsed document until there are more than `most`. SECURITY: serializing it to measure it
 * would take 180 ms for four megabytes.
 */
function charsIn(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + SIGNS;
  if (typeof value !== 'object' || value === null) return SIGNS;
  let count = SIGNS;
  for (const [key, inner] of Object.entries(value)) {
    count += (Array.isArray(value) ? 0 : key.length + SIGNS) + charsIn(inner, most - count);
    if (count > most) return count;
  }
  return count;
}

function firstOf(messages: readonly unknown[]): string | undefined {
  for (const message of messages) {
    const excess = Array.isArray(message) ? undefined : oversizedIn(message);
    if (excess !== undefined) return excess;
  }
  return undefined;
}

function tooLong(values: Partial<Record<keyof typeof LONGEST, unknown>>): string | undefined {
  for (const [name, value] of Object.entries(values)) {
    const longest = LONGEST[name as keyof typeof LONGEST];
    if (typeof value === 'string' && value.length > longest) return `${name} is longer than ${longest} characters`;
  }
  return undefined;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
