import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageRoot } from '../../src/lib/package-root.ts';

/** A regular expression as it stands in a file of ours. */
export interface FoundExpression {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

interface Token {
  readonly type: unknown;
  readonly start: number;
  readonly end: number;
}

const require = createRequire(import.meta.url);
const { parse } = require('sucrase/dist/parser/index.js') as {
  parse(text: string, isJsx: boolean, isTypeScript: boolean, isFlow: boolean): { tokens: readonly Token[] };
};
const { TokenType } = require('sucrase/dist/parser/tokenizer/types.js') as { TokenType: Record<string, unknown> };

/** Every literal in `src`. */
export function expressionsOfSource(): FoundExpression[] {
  return sourceFiles().flatMap(({ file, text }) =>
    parse(text, false, true, false)
      .tokens.filter(({ type }) => type === TokenType.regexp)
      .map(({ start, end }) => ({ file, ...split(text.slice(start, end)) })),
  );
}

/** The files that make a regular expression out of text. */
export function filesThatMakeExpressions(): string[] {
  return sourceFiles()
    .filter(({ text }) => /\bRegExp\(|\bimport\b.*'(?:picomatch|minimatch|micromatch)'/.test(text))
    .map(({ file }) => file);
}

/** Every pattern given to `re` in the modules that process 1 of a sandbox loads, in the syntax of JavaScript. */
export function expressionsOfSupervisor(): FoundExpression[] {
  const program = `import ast, json, sys
sys.path.insert(0, sys.argv[1])
import hotcell_guest.supervisor.supervisor
found = []
for name, module in list(sys.modules.items()):
    if not name.startswith("hotcell_guest"): continue
    for node in ast.walk(ast.parse(open(module.__file__).read())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            found.append({"file": name, "source": ast.literal_eval(node.args[0]), "flags": ""})
print(json.dumps(found))`;
  const printed = execFileSync('python3', ['-c', program, join(packageRoot(), 'guest')], { encoding: 'utf8' });
  const found = JSON.parse(printed) as FoundExpression[];
  return found.map((one) => ({
    ...one,
    source: one.source.replaceAll('(?P<', '(?<').replaceAll('\\Z', '$').replaceAll('/', '\\/'),
  }));
}

function sourceFiles() {
  const root = join(packageRoot(), 'src');
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
}

function split(literal: string) {
  const end = literal.lastIndexOf('/');
  return { source: literal.slice(1, end), flags: literal.slice(end + 1) };
}
