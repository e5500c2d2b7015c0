import { Command } from 'commander';
import type { CreateFlags } from '../token/index.ts';

/** `hotcell token create|list|revoke`: who may use a server that is reached from elsewhere. */
export function tokenCommand(): Command {
  const token = new Command('token')
    .description('Make, list and revoke the tokens by which people and programs are told apart on a server.')
    .addHelpText('after', HELP);
  token
    .command('create')
    .description('Make a token and show it, this once.')
    .argument('<name>', 'whom or what it is for')
    .option('--max-sessions <number>', 'open sessions at once')
    .option('--max-memory <size>', 'what the memory limits of its sessions may add up to: 4g')
    .option('--max-executions <number>', 'executions that run or wait at once')
    .option('--max-upload <size>', 'the largest file that may be written: 100m, 2g')
    .option('--json', 'print it as one JSON document')
    .addHelpText('after', CREATE_HELP)
    .action(async (name: string, flags: CreateFlags) => (await import('../token/index.ts')).createToken(name, flags));
  token
    .command('list')
    .description('List the tokens that there are. None of them can be used from what it prints.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', LIST_HELP)
    .action(async (flags: { json?: boolean }) => (await import('../token/index.ts')).listTokens(flags));
  token
    .command('revoke')
    .description('End a token. Servers that run notice at once, and close the sessions of its holder.')
    .argument('<id or name>', 'which one')
    .option('--json', 'print one JSON document')
    .addHelpText('after', REVOKE_HELP)
    .action(async (which: string, flags: { json?: boolean }) =>
      (await import('../token/index.ts')).revokeToken(which, flags),
    );
  return token;
}

const HELP = `
Every token is an owner: it sees its own sessions and files, and never another's. What is stored is a hash.

Examples:
  $ hotcell token create laptop
  $ hotcell token create ci --max-sessions 2 --max-upload 50m
  $ hotcell token list
  $ hotcell token revoke ci
`;

const CREATE_HELP = `
The token is the only line on stdout. Give it to its holder: what is kept is a hash, and it cannot be shown again.
What you leave out is limited as docs/configuration.md says.

Examples:
  $ hotcell token create laptop
  $ hotcell token create ci --max-sessions 2 --max-upload 50m
  $ export HOTCELL_TOKEN=$(hotcell token create laptop)
`;

const LIST_HELP = `
Examples:
  $ hotcell token list
  $ hotcell token list --json | jq -r '.[].name'
`;

const REVOKE_HELP = `
Examples:
  $ hotcell token revoke ci
`;
