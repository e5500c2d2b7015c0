import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port for a program that is started later. Below those that a system gives to whoever asks for any one, so that nobody else is given it meanwhile.
 */
export async function freePort(): Promise<number> {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isFree ? port : freePort();
}
