import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterwards } from '../cleanup.mjs';
import { whyNoContainers } from './docker.mjs';

const execute = promisify(execFile);
const PORT = 7000;

/** What `byte-server.mjs` does, in the language that the image has for certain. */
const server = `
import socket, threading
def serve(made):
    with made:
        left, piece = int(made.makefile("rb").readline()), b"x" * 262144
        while left > 0:
            made.sendall(piece[:left])
            left -= len(piece)
listening = socket.create_server(("", ${PORT}))
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
`;

/** Two containers on a bridge network of their own, as people run code that may reach a server. `run` runs a client in one of them and returns the number that it prints. */
export async function startBridge({ image, runtime }) {
  const missing = await whyNoContainers({ image, runtime });
  if (missing !== undefined) return { notTried: missing };
  const name = `hotcell-bench-${process.pid}-bridge`;
  const remove = afterwards(async () => {
    await execute('docker', ['rm', '--force', `${name}-server`, `${name}-client`]).catch(() => {});
    await execute('docker', ['network', 'rm', name]);
  });
  try {
    await execute('docker', ['network', 'create', '--driver', 'bridge', name]);
  } catch (error) {
    return { notTried: `the engine makes no bridge network: ${error.message.split('\n').at(-2)}` };
  }
  const start = (part, ...command) =>
    execute('docker', ['run', '-d', '--name', `${name}-${part}`, '--network', name, ...command]);
  await start('server', image, 'python3', '-u', '-c', server);
  await start('client', '--runtime', runtime, image, 'sleep', '1d');
  const { stdout } = await execute('docker', [
    ...['inspect', '--format', `{{(index .NetworkSettings.Networks "${name}").IPAddress}}`, `${name}-server`],
  ]);
  const address = stdout.trim();
  const run = async (codeFor) => {
    const args = ['exec', `${name}-client`, 'python3', '-c', codeFor(address, PORT)];
    return Number((await execute('docker', args)).stdout);
  };
  try {
    await run((host, port) => `import socket; socket.create_connection(("${host}", ${port})).close(); print(1)`);
    return { remove, run };
  } catch {
    await remove();
    return { notTried: `a container under ${runtime} has no network on this engine` };
  }
}
