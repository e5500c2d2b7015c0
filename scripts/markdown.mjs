import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { root } from './dependencies.mjs';
import { ensurePythonTools } from './python-tools.mjs';
import { capture } from './run.mjs';
import { prepare } from './steps.mjs';

/** Pages that a test generates from the code. */
const GENERATED = ['docs/configuration.md', 'docs/errors.md', 'docs/tools.md'];

/** Folders without pages of the project. */
const SKIPPED = ['.git', '.hotcell', 'node_modules', 'dist', 'results'];

/** The Markdown files that mdformat wraps by .mdformat.toml: 120 columns, tables without padding. */
export function markdownFiles(folder = '') {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.includes(entry.name) ? [] : markdownFiles(path);
    return entry.isFile() && path.endsWith('.md') && !GENERATED.includes(path) ? [path] : [];
  });
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const bin = await ensurePythonTools(await prepare());
  const { exitCode, output } = await capture(join(bin, 'mdformat'), markdownFiles(), { cwd: root });
  process.stderr.write(output);
  process.exitCode = exitCode;
}
