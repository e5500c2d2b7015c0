import { extname } from 'node:path';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { type Languages, languageNamed, languageOfExtension } from '../../languages/table.ts';
import { trimEndOf } from '../../lib/trim-end.ts';

/** The language of a program: as requested, else by its extension, else by its first line, else Python. */
export function languageOf(file: string, code: string, asked: string | undefined, languages: Languages): string {
  if (asked !== undefined) return languageNamed(languages, asked).name;
  const extension = file === '-' ? '' : extname(file);
  const found = languageOfExtension(languages, extension)?.name ?? languageOfFirstLine(code, languages);
  if (found !== undefined) return found;
  if (extension === '') return 'python';
  throw new HotcellError('invalid_argument', `${file}: unknown file extension ${extension}`, {
    remedy: `Set the language with --language: ${languages.map(({ name }) => name).join(', ')}.`,
  });
}

export function isNotebook(file: string): boolean {
  return extname(file).toLowerCase() === '.ipynb';
}

/** Reads the first line: `#!/bin/bash`, `#!/usr/bin/env -S perl -w`. */
function languageOfFirstLine(code: string, languages: Languages): string | undefined {
  const words = code.match(/^#![ \t]*(\S.*)/)?.[1]?.split(/\s+/) ?? [];
  const program = words
    .map((word) => word.split('/').at(-1) ?? '')
    .find((name) => name !== 'env' && !name.startsWith('-'));
  if (program === undefined) return undefined;
  const name = trimEndOf(program, '0123456789.');
  const found = languages.find(
    (language) => language.name === name || language.aliases.includes(name) || language.needs[0] === program,
  );
  return found?.name;
}
