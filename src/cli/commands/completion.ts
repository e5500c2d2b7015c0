import { Argument, Command } from 'commander';
import type { Shell } from '../completion/index.ts';
import { standardOutputs } from '../output.ts';

/** `hotcell completion <shell>`: prints the script by which a shell completes Hotcell's commands and flags. */
export function completionCommand(): Command {
  return new Command('completion')
    .description('Print the completion script of a shell.')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', HELP)
    .action(async (shell: Shell, _: unknown, command: Command) => {
      const { completionScript } = await import('../completion/index.ts');
      await standardOutputs().stdout.show(completionScript(command.parent!, shell));
    });
}

const HELP = `
To have it in every new shell:
  bash  hotcell completion bash > ~/.local/share/bash-completion/completions/hotcell
        (or, without the package bash-completion, in ~/.bashrc: source <(hotcell completion bash))
  zsh   hotcell completion zsh > "\${fpath[1]}/_hotcell"
        (or, after compinit in ~/.zshrc: source <(hotcell completion zsh))
  fish  hotcell completion fish > ~/.config/fish/completions/hotcell.fish

Examples:
  $ source <(hotcell completion bash)
  $ hotcell completion fish | source
`;
