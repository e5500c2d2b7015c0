import { shellQuoted } from '../../lib/shell-quoted.ts';
import type { CompletionModel, CompletionOption, CompletionValue } from './model.ts';

/** The script for bash 3.2 and newer. It needs no other program. */
export function bashScript({ program, options, commands }: CompletionModel): string {
  const valued = commands.flatMap((command) =>
    command.options.flatMap((option) => valueCases(command.name, option, option.value)),
  );
  const rest = commands.map(({ name, options: own, argument }) => {
    const flags = `_${program}_words ${shellQuoted(flagsOf(own).join(' '))}`;
    const words = argument === undefined ? ':' : source(program, argument);
    return `    ${name}) case $current in -*) ${flags} ;; *) ${words} ;; esac ;;`;
  });
  const names = commands.map(({ name }) => name);
  return `# bash completion of ${program}. Made by: ${program} completion bash
_${program}_words() {
  local word
  for word in $1; do [[ $word == "$current"* ]] && COMPREPLY+=("$word"); done
}
_${program}_paths() {
  local path
  type compopt >/dev/null 2>&1 && compopt -o filenames
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$current")
}
_${program}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command= index
  COMPREPLY=()
  # Of --option=value bash makes three words.
  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case \${COMP_WORDS[index]} in ${names.join(' | ')}) command=\${COMP_WORDS[index]}; break ;; esac
  done
  case "$command $previous" in
${valued.map(({ pattern, value }) => `    ${pattern}) ${source(program, value)}; return ;;`).join('\n')}
  esac
  case $command in
${rest.join('\n')}
    *) _${program}_words ${shellQuoted([...names, ...flagsOf(options)].join(' '))} ;;
  esac
}
complete -F _${program} ${program}
`;
}

function valueCases(command: string, { short, long }: CompletionOption, value: CompletionValue | undefined) {
  if (value === undefined) return [];
  const flags = [long, ...(short === undefined ? [] : [short])];
  return [{ pattern: flags.map((flag) => `'${command} ${flag}'`).join(' | '), value }];
}

function source(program: string, value: CompletionValue): string {
  switch (value.kind) {
    case 'words':
      return `_${program}_words ${shellQuoted(value.words.join(' '))}`;
    case 'file':
      return `_${program}_paths -f`;
    case 'folder':
      return `_${program}_paths -d`;
    case 'free':
      return ':';
  }
}

function flagsOf(options: readonly CompletionOption[]): string[] {
  return options.flatMap(({ short, long }) => [long, ...(short === undefined ? [] : [short])]);
}
