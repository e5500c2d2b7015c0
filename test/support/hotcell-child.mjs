/** A Hotcell in a process of its own, as it is built, that does what it is told over Node's channel to its parent (child-hotcell.ts). */
import { openHotcell } from '../../dist/index.js';

let hotcell;
const sessions = new Map();

const commands = {
  start: async (options) => {
    hotcell = await openHotcell(options);
  },
  open: async (name, options = {}) => {
    sessions.set(name, await hotcell.open(options));
  },
  run: async (name, code) => {
    const { outcome, value, restarted } = await sessions.get(name).run(code);
    return { outcome: outcome.kind, value: value?.text, restarted };
  },
  install: (name, packages) => sessions.get(name).install(packages),
  settled: () => hotcell.settled(),
  close: () => hotcell.close(),
};

process.on('message', ({ id, command, args }) => {
  const done = commands[command](...args);
  process.send({ id, begun: true });
  done.then(
    (result) => process.send({ id, result }),
    (error) => process.send({ id, error: { code: error.code, message: error.message } }),
  );
});
// Whoever gave the orders is gone.
process.on('disconnect', () => process.exit(1));
