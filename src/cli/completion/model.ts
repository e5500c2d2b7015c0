import type { Command, Option } from 'commander';

/** The commands and options of the program, as completion scripts need them. */
export interface CompletionModel {
  readonly program: string;
  readonly options: readonly CompletionOption[];
  readonly commands: readonly CompletionCommand[];
}

export interface CompletionCommand {
  readonly name: string;
  readonly description: string;
  readonly options: readonly CompletionOption[];
  readonly argument?: CompletionValue;
}

export interface CompletionOption {
  readonly short?: string;
  readonly long: string;
  readonly description: string;
  /** Kind of the option's value. Undefined if it takes none. */
  readonly value?: CompletionValue;
  readonly repeatable: boolean;
}

/** The kind of a value: one of some words, a file, a folder, or free text. */
export type CompletionValue =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'file' | 'folder' | 'free' };

/** `known` has the words of options that do not list their values, by long name. */
export function completionModel(
  program: Command,
  known: Readonly<Record<string, readonly string[]>> = {},
): CompletionModel {
  const optionModel = (option: Option) => optionOf(option, known);
  const help = program.createHelp();
  const helpCommand = { name: 'help', description: 'Show the help of a command', options: [] };
  const commands = program.commands.map((command) => commandModel(command, optionModel));
  const names = { kind: 'words', words: commands.map(({ name }) => name) } as const;
  return {
    program: program.name(),
    options: help.visibleOptions(program).map(optionModel),
    commands: [...commands, { ...helpCommand, argument: names }],
  };
}

function commandModel(command: Command, optionModel: (option: Option) => CompletionOption): CompletionCommand {
  const [argument] = command.registeredArguments;
  const below = command.commands.map((each) => each.name());
  return {
    name: command.name(),
    description: firstSentence(command.description()),
    options: command.createHelp().visibleOptions(command).map(optionModel),
    ...(argument === undefined ? {} : { argument: valueFor(argument.name(), argument.argChoices) }),
    ...(below.length === 0 ? {} : { argument: { kind: 'words', words: below } }),
  };
}

function optionOf(option: Option, known: Readonly<Record<string, readonly string[]>>): CompletionOption {
  const placeholder = option.flags.match(/[<[]([^>]+?)(?:\.\.\.)?[>\]]$/)?.[1];
  return {
    ...(option.short === undefined ? {} : { short: option.short }),
    long: option.long ?? option.flags,
    description: firstSentence(option.description),
    ...(placeholder === undefined
      ? {}
      : { value: valueFor(placeholder, option.argChoices ?? known[option.long ?? '']) }),
    repeatable: /repeatable/.test(option.description),
  };
}

/** The kind of a value by its placeholder in the help: `<file>`, `<folder>`, `<source:target[:rw]>`. */
function valueFor(placeholder: string, words: readonly string[] | undefined): CompletionValue {
  if (words !== undefined) return { kind: 'words', words };
  if (placeholder === 'file') return { kind: 'file' };
  return { kind: placeholder === 'folder' || placeholder.startsWith('source') ? 'folder' : 'free' };
}

function firstSentence(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replace(/ \(default:.*$|[.;](?: .*)?$/, '')
    .trim();
}
