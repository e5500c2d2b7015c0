/** Length of the texts of a summary. The guest's own have 200 characters; a program that replaced them is cut here. */
const TYPE_CHARS = 500;
const SUMMARY_CHARS = 2_000;

/** A summary of a variable whose texts have a bounded length. */
export function shortSummary<T extends { readonly type: string; readonly summary: string }>(variable: T): T {
  return {
    ...variable,
    type: beginning(variable.type, TYPE_CHARS),
    summary: beginning(variable.summary, SUMMARY_CHARS),
  };
}

function beginning(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars).toWellFormed()}…` : text;
}
