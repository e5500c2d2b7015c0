import type { CodeCell, Notebook } from './nbformat.ts';

/** Language names that only notebook kernels use. */
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

/** The language of a notebook's cells, from its kernel metadata; Python by default. */
export function languageOf({ metadata }: Pick<Notebook, 'metadata'>): string {
  const info = asRecord(metadata.language_info);
  const kernel = asRecord(metadata.kernelspec);
  const said = [info.name, kernel.language, kernel.name].find((name) => typeof name === 'string' && name !== '');
  const name = typeof said === 'string' ? said.toLowerCase() : 'python';
  return ALIASES.get(name) ?? name;
}

/**
 * The language of a cell. A session may have kernels of several languages, but a notebook has one, so a cell of another
 * language has a marker in its metadata.
 */
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

/** The kernel metadata of a notebook, from which Jupyter chooses a kernel. */
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
