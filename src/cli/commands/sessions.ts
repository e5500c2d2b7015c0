import { Command } from 'commander';

/** `hotcell sessions list|close`: the persistent sessions of this machine. */
export function sessionsCommand(): Command {
  const sessions = new Command('sessions')
    .description('List and close persistent sessions, which survive their server.')
    .addHelpText('after', HELP);
  sessions
    .command('list', { isDefault: true })
    .description('List persistent sessions: owner, isolation, and whether a running server has them.')
    .option('--json', 'print one JSON document')
    .addHelpText('after', LIST_HELP)
    .action(async (flags: { json?: boolean }) => (await import('../sessions/index.ts')).listPersistent(flags));
  sessions
    .command('close')
    .description('Close a session that no running server has, and delete its container, variables and files.')
    .argument('<id or name>', 'id or name of the session')
    .option('--json', 'print one JSON document')
    .addHelpText('after', CLOSE_HELP)
    .action(async (which: string, flags: { json?: boolean }) =>
      (await import('../sessions/index.ts')).closePersistent(which, flags),
    );
  return sessions;
}

const HELP = `
Open a session with persistent: true (open_session). It runs in a container, and the next server of this installation takes it
over at its owner's next call. If no server comes back, the session ends after its idle time.

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
To close a session that a running server has, use the tool close_session.

Examples:
  $ hotcell sessions close lab
`;
