import { ERROR_CODES, type ErrorEntry } from '../../src/errors/codes.ts';

/** docs/errors.md, from the one table of errors. */
export function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES as Record<string, ErrorEntry>).map(
    ([code, { means, retry, httpStatus, exitCode }]) =>
      `| \`${code}\` | ${means} | ${retry} | ${exitCode} | ${httpStatus} |`,
  );
  return `# Errors

<!-- Made from src/errors/codes.ts: change that, then run \`npx vitest run test/documents.test.ts -u\`. -->

An error means that Hotcell could not do its work. How a program ended, be it an exception, a time limit or a crash, is
an *outcome* and part of the result: nothing is thrown for it.

The library rejects with a \`HotcellError\`: \`code\` from this table, \`message\` with what happened to which thing, \`remedy\`
with what to do next, \`data\` with details. \`hotcell run --json\` prints the same as \`{"error": {…}}\`.

*Retry* is advice: \`never\` with the same input, \`later\` as it is, \`new-session\` after you open another session.

| code | it means | retry | exit code | HTTP status |
|---|---|---|---|---|
${rows.join('\n')}
`;
}
