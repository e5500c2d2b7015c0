/** The table of servers and the name of one in it. */
export type EntryPath = readonly [key: string, name: string];

/** How one format is changed as text. `parse` throws what is wrong with a text; the others may rely on one that parses. */
export interface ConfigEditor {
  parse(text: string): unknown;
  set(text: string, path: EntryPath, value: Record<string, unknown>): string;
  /** Takes the entry out, and the table with it where nothing else is in it. */
  remove(text: string, path: EntryPath): string;
  /** The entry alone, to be pasted into a file. */
  fragment(path: EntryPath, value: Record<string, unknown>): string;
}
