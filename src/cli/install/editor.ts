/** The key of the table of servers, and the name of one server in it. */
export type EntryPath = readonly [key: string, name: string];

/** Edits one format as text. `parse` throws for an invalid text; the other methods expect a valid one. */
export interface ConfigEditor {
  parse(text: string): unknown;
  set(text: string, path: EntryPath, value: Record<string, unknown>): string;
  /** Removes the entry, and the table if it is empty then. */
  remove(text: string, path: EntryPath): string;
  /** The entry as the text has it, comments included. Undefined if there is none. */
  source(text: string, path: EntryPath): string | undefined;
  /** The entry alone, for pasting into a file. */
  fragment(path: EntryPath, value: Record<string, unknown>): string;
}
