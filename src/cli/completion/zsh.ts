import { shellQuoted } from '../../lib/shell-quoted.ts';
import type { CompletionModel, CompletionOption, CompletionValue } from './model.ts';

/** The script for zsh. Source it after `compinit`, or put it into a folder of `fpath` as `_hotcell`. */
export function zshScript({ program, options, commands }: CompletionModel): string {
  const named = commands.map(({ name, description }) => shellQuoted(`${name}:${description.replaceAll(':', '\\:')}`));
  const cases = commands.map(({ name, options: own, argument }) => {
    const specs = [
      ...own.map(optionSpec),
      ...(argument === undefined ? [] : [`1:${argument.kind}:${action(argument)}`]),
    ].map(shellQuoted);
    return `      ${name})\n        _arguments -s ${['', ...specs].join(' \\\n          ')} && return ;;`;
  });
  return `#compdef ${program}
# zsh completion of ${program}. Made by: ${program} completion zsh
_${program}() {
  local context state state_descr line ret=1
  typeset -A opt_args
  local -a commands=(${['', ...named].join('\n    ')}
  )
  _arguments -C ${['', ...options.map(optionSpec).map(shellQuoted)].join(' \\\n    ')} \\
    '1: :->command' '*:: :->arguments' && ret=0
  case $state in
    command) _describe command commands && return ;;
    arguments)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
  return ret
}
if [[ $funcstack[1] == _${program} ]]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function optionSpec({ short, long, description, value, repeatable }: CompletionOption): string {
  const text = description.replaceAll(/[[\]\\:]/g, '\\$&');
  const taken = value === undefined ? '' : `:${value.kind}:${action(value)}`;
  const once = repeatable ? '*' : `(${[short, long].filter(Boolean).join(' ')})`;
  // One spec completes the long name; users who know the short one type it.
  return `${once}${long}${value === undefined ? '' : '='}[${text}]${taken}`;
}

function action(value: CompletionValue): string {
  switch (value.kind) {
    case 'words':
      return `(${value.words.join(' ')})`;
    case 'file':
      return '_files';
    case 'folder':
      return '_files -/';
    case 'free':
      return ' ';
  }
}
