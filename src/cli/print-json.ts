/** What every command with `--json` answers: one value on stdout, indented, and nothing else there. */
export function printJson(value: unknown, stdout: { write(text: string): unknown } = process.stdout): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
