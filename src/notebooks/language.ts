import type { CodeCell, Notebook } from './nbformat.ts';

/** Names that kernels of notebooks have and that nobody else has for a language. */
const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ipython: 'python',
    python2: 'python',
    python3: 'python',
    node: 'javascript',
    nodejs: 'javascript',
    jslab: 'javascript',
    tslab: 'typescript',
    'c++': 'cpp',
    'c++17': 'cpp',
    sh: 'bash',
    shell: 'bash',
    ir: 'r',
  }),
);

/** The language of a notebook's cells, from what it says of its kernel. Python where it says nothing. */
export function languageOf({ metadata }: Pick<Notebook, 'metadata'>): string {
  const info = asRecord(metadata.language_info);
  const kernel = asRecord(metadata.kernelspec);
  const said = [info.name, kernel.language, kernel.name].find((name) => typeof name === 'string' && name !== '');
  const name = typeof said === 'string' ? said.toLowerCase() : 'python';
  return ALIASES.get(name) ?? name;
}

/** A session may hold kernels of several languages; a notebook has one. A cell of another says so, and is read back so. */
export function cellLanguage(cell: CodeCell, ofNotebook: string): string {
  const { language } = asRecord(cell.metadata.hotcell);
  return typeof language === 'string' ? language : ofNotebook;
}

const DISPLAY_NAMES: Readonly<Record<string, string>> = {
  python: 'Python 3',
  javascript: 'JavaScript (Node.js)',
  typescript: 'TypeScript',
  bash: 'Bash',
};

/** What a notebook says of its kernel, so that Jupyter chooses one for it. */
export function kernelMetadata(language: string): Record<string, unknown> {
  return {
    kernelspec: {
      name: language === 'python' ? 'python3' : language,
      display_name: DISPLAY_NAMES[language] ?? language,
      language,
    },
    language_info: { name: language },
  };
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
