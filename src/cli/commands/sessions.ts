import { Command } from 'commander';

/** `hotcell sessions list|close`: what outlives the servers of this machine. */
export function sessionsCommand(): Command {
  const sessions = new Command('sessions')
    .description('List and close the sessions that outlive their server.')
    .addHelpText('after', HELP);
  sessions
    .command('list', { isDefault: true })
    .description('List them: whose they are, what they live in, and whether a server holds them now.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', LIST_HELP)
    .action(async (flags: { json?: boolean }) => (await import('../sessions/index.ts')).listPersistent(flags));
  sessions
    .command('close')
    .description('End one that no server holds, with its container, variables and files.')
    .argument('<id or name>', 'which one')
    .option('--json', 'print one JSON document')
    .addHelpText('after', CLOSE_HELP)
    .action(async (which: string, flags: { json?: boolean }) =>
      (await import('../sessions/index.ts')).closePersistent(which, flags),
    );
  return sessions;
}

const HELP = `
A session is opened with persistent: true (open_session). It lives in a container, and the next server of this installation takes it
over when its owner calls it. Where none comes back, it ends by itself after its idle time.

Examples:
  $ hotcell sessions
  $ hotcell sessions close lab
`;

const LIST_HELP = `
Examples:
  $ hotcell sessions
  $ hotcell sessions list --json | jq -r '.[].session_id'
`;

const CLOSE_HELP = `
One that a server holds is closed there, with the tool close_session.

Examples:
  $ hotcell sessions close lab
`;
