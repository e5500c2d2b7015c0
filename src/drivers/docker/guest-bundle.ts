import { deflateRawSync } from 'node:zlib';
import { bootstrapProgram } from '../../guest/bootstrap-program.ts';
import { type GuestFile, guestFiles } from '../../guest/guest-files.ts';

/** How the guest gets into a container: a command that any Python runs, and the bytes that it reads first. What is added to the command are arguments of the guest. */
export interface GuestBundle {
  readonly command: readonly string[];
  readonly bytes: Buffer;
}

/** The guest of this installation, read and packed. */
export function guestBundle(files: readonly GuestFile[] = guestFiles()): GuestBundle {
  return {
    command: ['python3', '-I', '-c', bootstrapProgram('take_bundle')],
    bytes: Buffer.concat([Buffer.from(bootstrapProgram('from_memory')), ...packed(files)].flatMap(withLength)),
  };
}

/** The two arguments of `serve` in guest/bootstrap/from_memory.py. */
function packed(files: readonly GuestFile[]): [index: Buffer, blob: Buffer] {
  const sources: Record<string, string> = {};
  const programs: Record<string, [start: number, length: number]> = {};
  const blob: Buffer[] = [];
  let end = 0;
  for (const { path, content } of files) {
    if (path.endsWith('.py')) {
      sources[path] = content.toString('utf8');
      continue;
    }
    const deflated = deflateRawSync(content);
    programs[path] = [end, deflated.length];
    blob.push(deflated);
    end += deflated.length;
  }
  return [Buffer.from(JSON.stringify({ sources, programs })), Buffer.concat(blob)];
}

function withLength(part: Buffer): [Buffer, Buffer] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(part.length);
  return [length, part];
}
