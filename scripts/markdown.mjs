import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { root } from './dependencies.mjs';
import { ensurePythonTools } from './python-tools.mjs';
import { capture } from './run.mjs';
import { prepare } from './steps.mjs';

/** Pages that a test generates from the code. */
const GENERATED = ['docs/configuration.md', 'docs/errors.md', 'docs/tools.md'];

/** The Markdown files that mdformat wraps, as .mdformat.toml says: 120 columns, tables without padding. */
export async function markdownFiles() {
  const { output } = await capture('git', ['ls-files', '*.md'], { cwd: root });
  return output.split('\n').filter((file) => file.endsWith('.md') && !GENERATED.includes(file));
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const bin = await ensurePythonTools(await prepare());
  const { exitCode, output } = await capture(`${bin}/mdformat`, await markdownFiles(), { cwd: root });
  process.stderr.write(output);
  process.exitCode = exitCode;
}
