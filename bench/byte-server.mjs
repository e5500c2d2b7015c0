import { createServer } from 'node:net';

/**
 * A TCP server for the measurements of the network, as a process of its own: a client sends a line with a number, and gets
 * as many bytes. Prints its port.
 */
const piece = Buffer.alloc(262_144, 'x');

createServer((socket) => {
  let left;
  const pump = () => {
    while (left > 0) {
      const bytes = left >= piece.length ? piece : piece.subarray(0, left);
      left -= bytes.length;
      if (!socket.write(bytes)) return;
    }
    socket.end();
  };
  socket.on('error', () => socket.destroy());
  socket.on('drain', pump);
  socket.once('data', (line) => {
    left = Number(line);
    pump();
  });
}).listen(Number(process.argv[2] ?? 0), process.argv[3] ?? '127.0.0.1', function listening() {
  process.stdout.write(`${this.address().port}\n`);
});
