import { deflateRawSync } from 'node:zlib';
import { type BootstrapProgram, bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { type GuestFile, guestFiles } from '../../guest/guest-files.ts';

/**
 * The guest as it is sent into a container: a command that any Python runs, and the bytes that it reads first from
 * standard input. Arguments appended to the command are passed to the guest.
 */
export interface GuestBundle {
  readonly command: readonly string[];
  readonly bytes: Buffer;
}

export interface BundleParts {
  readonly files?: readonly GuestFile[];
  /**
   * The byte code of the files (guest-code.ts). Without it, or if it is for another Python, the guest is compiled from
   * source.
   */
  readonly code?: Buffer;
  /** The program that uses the files inside; by default it starts the guest. */
  readonly program?: Extract<BootstrapProgram, 'from_memory' | 'compile_guest'>;
}

/** Packs the guest of this installation. */
export function guestBundle(parts: BundleParts = {}): GuestBundle {
  const { files = guestFiles(), code = Buffer.alloc(0), program = 'from_memory' } = parts;
  return {
    // UTF-8 mode, which Python has by itself where the locale is C, as in a jail.
    command: ['python3', '-I', '-X', 'utf8', '-c', bootstrapProgram('take_bundle')],
    bytes: Buffer.concat([Buffer.from(bootstrapProgram(program)), ...packed(files), code].flatMap(withLength)),
  };
}

/**
 * The first two arguments of `serve` in guest/bootstrap. Each file is deflated separately, because most sessions need
 * few of them.
 */
function packed(files: readonly GuestFile[]): [index: Buffer, blob: Buffer] {
  const index: Record<string, [start: number, length: number]> = {};
  const blob: Buffer[] = [];
  let end = 0;
  for (const { path, content } of files) {
    const deflated = deflateRawSync(content);
    index[path] = [end, deflated.length];
    blob.push(deflated);
    end += deflated.length;
  }
  return [Buffer.from(JSON.stringify(index)), Buffer.concat(blob)];
}

function withLength(part: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return [length, part];
}
