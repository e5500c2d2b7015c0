import { Command } from 'commander';
import { collect } from '../sandbox-options.ts';
import type { CreateFlags } from '../token/index.ts';

/** `hotcell token create|list|revoke`: tokens for a server that is reached over the network. */
export function tokenCommand(): Command {
  const token = new Command('token')
    .description('Create, list and revoke the access tokens of a server.')
    .addHelpText('after', HELP);
  token
    .command('create')
    .description('Create a token and show it once.')
    .argument('<name>', 'name of its holder')
    .option('--max-sessions <number>', 'maximum number of open sessions')
    .option('--max-memory <size>', 'maximum total of the memory limits of its sessions: 4g')
    .option('--max-executions <number>', 'maximum number of running and queued executions')
    .option('--max-upload <size>', 'maximum size of a file: 100m, 2g')
    .option(
      '--network <rule>',
      'the most that its sessions may reach: registries, all, host, *.host, host:port, !rule; repeatable (default: --network of the server)',
      collect,
    )
    .option(
      '--service <name>',
      'a service of the configuration (forwards, credentials) that its sessions may use; repeatable (default: none)',
      collect,
    )
    .option('--install', 'its sessions may install packages (default: no)')
    .option('--json', 'print it as one JSON document')
    .addHelpText('after', CREATE_HELP)
    .action(async (name: string, flags: CreateFlags) => (await import('../token/index.ts')).createToken(name, flags));
  token
    .command('list')
    .description('List all tokens. Their secrets are not shown.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', LIST_HELP)
    .action(async (flags: { json?: boolean }) => (await import('../token/index.ts')).listTokens(flags));
  token
    .command('revoke')
    .description('Revoke a token. Running servers notice at once and close its sessions.')
    .argument('<id or name>', 'id or name of the token')
    .option('--json', 'print one JSON document')
    .addHelpText('after', REVOKE_HELP)
    .action(async (which: string, flags: { json?: boolean }) =>
      (await import('../token/index.ts')).revokeToken(which, flags),
    );
  return token;
}

const HELP = `
Every token is an owner: it sees only its own sessions and files. Hotcell stores a hash of the token.

Examples:
  $ hotcell token create laptop
  $ hotcell token create ci --max-sessions 2 --max-upload 50m
  $ hotcell token list
  $ hotcell token revoke ci
`;

const CREATE_HELP = `
The token is the only line on stdout. Give it to its holder: Hotcell stores a hash and cannot show it again.
Without a flag, the limit of docs/configuration.md applies.

Examples:
  $ hotcell token create laptop
  $ hotcell token create ci --max-sessions 2 --max-upload 50m
  $ hotcell token create analysts --install
  $ hotcell token create reports --service db --service github
  $ hotcell token create research --network '*.wikipedia.org' --network registries
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
