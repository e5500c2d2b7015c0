/** Characters of what only names something. SECURITY: each is repeated: ids in answers, tokens in every notice of progress, names and addresses in complaints and patterns. */
const LONGEST = { id: 256, method: 256, name: 256, cursor: 1_024, uri: 16_384, progressToken: 256 };

/**
 * Characters of a message without the arguments of a tool. SECURITY: they have limits of their own, and are checked at once. Everything else, `_meta` above all, is kept
 * as long as the call waits, and what `initialize` says of a client as long as it is connected.
 */
const MOST_BESIDE_ARGUMENTS = 20_000;

/** What is wrong with the sizes in a JSON-RPC message, or in a list of them, whatever else it is. */
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
  if (charsIn(rest, MOST_BESIDE_ARGUMENTS) <= MOST_BESIDE_ARGUMENTS) return undefined;
  return `more than ${MOST_BESIDE_ARGUMENTS} characters beside the arguments of a tool`;
}

/** A number, a boolean or null, or the signs around a string or a list. */
const SIGNS = 4;

/**
 * Counts characters of a parsed document, its strings by their lengths, until there are more than `most`. SECURITY: to write all of it as JSON in order to measure it takes 180 ms for four megabytes.
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
