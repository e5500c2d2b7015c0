import type { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { allLanguages } from '../../languages/table.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { type CompletionModel, completionModel } from './model.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } satisfies Record<
  string,
  (model: CompletionModel) => string
>;

export type Shell = keyof typeof SCRIPTS;

/** The completion script of a shell, generated from the program's own commands. */
export function completionScript(program: Command, shell: Shell): string {
  const languages = allLanguages(loadConfig().recipes).map(({ name }) => name);
  return SCRIPTS[shell](completionModel(program, { '--language': languages }));
}
