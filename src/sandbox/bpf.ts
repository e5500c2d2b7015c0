/** Classic BPF for seccomp: instructions of 8 bytes, with forward jumps only. */

/** An instruction, or a label that earlier instructions jump to. */
export type Line = { readonly label: string } | Instruction;

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** The label to jump to; the next instruction if absent. */
  readonly ifTrue?: string | undefined;
  readonly ifFalse?: string | undefined;
}

/** Offsets in `struct seccomp_data`, the input of a filter. */
export const NUMBER = 0;
export const ARCHITECTURE = 4;
/** The offset of the low half of an argument: flags, families and pids fit into it, and the kernel reads no more. */
export const argument = (index: number) => 16 + index * 8;
export const highHalf = (index: number) => argument(index) + 4;

export const load = (offset: number): Line => ({ code: 0x20, value: offset });
export const mask = (bits: number): Line => ({ code: 0x54, value: bits });
export const ifEqual = (value: number, ifTrue?: string, ifFalse?: string): Line => ({
  ...{ code: 0x15, value, ifTrue, ifFalse },
});
export const ifAtLeast = (value: number, ifTrue?: string, ifFalse?: string): Line => ({
  ...{ code: 0x35, value, ifTrue, ifFalse },
});
export const ifAnyBit = (bits: number, ifTrue?: string, ifFalse?: string): Line => ({
  ...{ code: 0x45, value: bits, ifTrue, ifFalse },
});
export const label = (name: string): Line => ({ label: name });
export const refuse = (errno: number): Line => ({ code: 0x06, value: 0x00050000 | errno });
export const ALLOW: Line = { code: 0x06, value: 0x7fff0000 };
export const KILL: Line = { code: 0x06, value: 0x80000000 };

const FARTHEST = 255;

/** Assembles a program: labels become distances. */
export function assemble(lines: readonly Line[]): Buffer {
  const places = new Map<string, number>();
  const instructions: Instruction[] = [];
  for (const line of lines) {
    if ('label' in line) places.set(line.label, instructions.length);
    else instructions.push(line);
  }
  const distance = (from: number, to: string | undefined) => {
    if (to === undefined) return 0;
    const over = (places.get(to) ?? -1) - from - 1;
    if (over < 0 || over > FARTHEST) throw new RangeError(`no instruction at ${from} can jump to ${to}`);
    return over;
  };
  return Buffer.concat(
    instructions.map(({ code, value, ifTrue, ifFalse }, at) =>
      encode(code, value, distance(at, ifTrue), distance(at, ifFalse)),
    ),
  );
}

/**
 * Runs `lower` if the accumulator is below `pivot`, else `upper`. `lower` may be longer than a conditional jump can
 * skip.
 */
export function branch(pivot: number, lower: Buffer, upper: Buffer): Buffer {
  const over = lower.length / 8;
  const jump = over > FARTHEST ? [encode(0x35, pivot, 0, 1), encode(0x05, over, 0, 0)] : [encode(0x35, pivot, over, 0)];
  return Buffer.concat([...jump, lower, upper]);
}

function encode(code: number, value: number, ifTrue: number, ifFalse: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes[2] = ifTrue;
  bytes[3] = ifFalse;
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
