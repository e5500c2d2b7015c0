import { Socket } from 'node:net';

/** As much as Node reads at once by itself. */
const READ_BYTES = 65_536;

/** Memory that the connections of a session are read into, one after the other. */
export function readMemory(): Buffer {
  return Buffer.allocUnsafeSlow(READ_BYTES);
}

/**
 * A socket that reads into memory which is used again, instead of new memory for each read. It emits no `data`: `passTo` gets the
 * bytes, and must copy what it keeps. It is paused until it is resumed.
 */
export class ServerSocket extends Socket {
  #pass: (bytes: Buffer) => boolean = () => false;

  constructor(memory: Buffer) {
    super({
      allowHalfOpen: true,
      onread: { buffer: memory, callback: (bytes: number) => this.#pass(memory.subarray(0, bytes)) },
    } as ConstructorParameters<typeof Socket>[0]);
    this.pause();
  }

  /** `pass` returns whether to read on; if not, `resume` does. */
  passTo(pass: (bytes: Buffer) => boolean): void {
    this.#pass = pass;
  }
}
