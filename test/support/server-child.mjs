/** A server of sessions in a process of its own, as it is built, that does what it is told over Node's channel to its parent (child-server.ts). */
import { openServer, tokenOwner } from '../../dist/index.js';

let server;
const ownerOf = (id) => tokenOwner(id, server.config);
const sessionOf = (owner, id) => server.sessions.use(ownerOf(owner), id ?? undefined);

const commands = {
  start: async (options) => {
    server = await openServer(options);
    // What `hotcell serve` does with the signals that end it.
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => commands.close().then(() => process.exit(0)));
  },
  open: async (owner, request) => (await server.sessions.open(ownerOf(owner), request)).id,
  use: async (owner, id) => (await sessionOf(owner, id)).id,
  run: async (owner, id, code) => {
    const { outcome, value, restarted } = await (await sessionOf(owner, id)).run(code).result;
    return { outcome: outcome.kind, value: value?.text, restarted };
  },
  closeSession: (owner, id) => server.sessions.close(ownerOf(owner), id),
  log: async (message) => server.telemetry.logger.info(message),
  metrics: async () => (await server.telemetry.exposition()).text,
  settled: () => server.hotcell.settled(),
  close: () => server.close(),
};

process.on('message', ({ id, command, args }) => {
  const done = commands[command](...args);
  process.send({ id, begun: true });
  done.then(
    (result) => process.connected && process.send({ id, result }),
    (error) => process.connected && process.send({ id, error: { code: error.code, message: error.message } }),
  );
});
// Whoever gave the orders is gone.
process.on('disconnect', () => process.exit(1));
