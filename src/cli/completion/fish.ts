import type { CompletionModel, CompletionOption, CompletionValue } from './model.ts';

/** The script for fish 3 and newer. */
export function fishScript({ program, options, commands }: CompletionModel): string {
  const names = commands.map(({ name }) => name).join(' ');
  const before = `not __fish_seen_subcommand_from ${names}`;
  return [
    `# fish completion of ${program}. Made by: ${program} completion fish`,
    `complete -c ${program} -f`,
    ...options.map((option) => line(program, before, optionParts(option))),
    ...commands.map(({ name, description }) => line(program, before, [`-a ${name}`, `-d ${quoted(description)}`])),
    ...commands.flatMap(({ name, options: own, argument }) => {
      const inside = `__fish_seen_subcommand_from ${name}`;
      return [
        ...own.map((option) => line(program, inside, optionParts(option))),
        ...(argument === undefined || argument.kind === 'free' ? [] : [line(program, inside, argumentParts(argument))]),
      ];
    }),
    '',
  ].join('\n');
}

function line(program: string, condition: string, parts: readonly string[]): string {
  return `complete -c ${program} -n ${quoted(condition)} ${parts.join(' ')}`;
}

function optionParts({ short, long, description, value }: CompletionOption): string[] {
  return [
    `-l ${long.replace(/^--/, '')}`,
    ...(short === undefined ? [] : [`-s ${short.replace(/^-/, '')}`]),
    ...(value === undefined ? [] : valueParts(value)),
    `-d ${quoted(description)}`,
  ];
}

/** `-x`: the option takes a value that is no file; `-r -F`: it takes a file. */
function valueParts(value: CompletionValue): string[] {
  switch (value.kind) {
    case 'words':
      return ['-x', `-a ${quoted(value.words.join(' '))}`];
    case 'file':
      return ['-r', '-F'];
    case 'folder':
      return ['-x', `-a ${quoted('(__fish_complete_directories)')}`];
    case 'free':
      return ['-x'];
  }
}

function argumentParts(value: CompletionValue): string[] {
  if (value.kind === 'words') return [`-a ${quoted(value.words.join(' '))}`];
  return value.kind === 'folder' ? [`-a ${quoted('(__fish_complete_directories)')}`] : ['-F'];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
