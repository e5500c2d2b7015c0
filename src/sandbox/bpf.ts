/** Classic BPF as seccomp runs it: instructions of 8 bytes, which jump forward only. */

/** An instruction, or a label that those before it jump to. */
export type Line = { readonly label: string } | Instruction;

interface Instruction {
  readonly code: number;
  readonly value: number;
  /** Labels; the next instruction where there is none. */
  readonly ifTrue?: string | undefined;
  readonly ifFalse?: string | undefined;
}

/** What seccomp gives the program to look at. */
export const NUMBER = 0;
export const ARCHITECTURE = 4;
/** The low half of an argument: flags, families and pids fit in it, and the kernel looks at no more. */
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

/** Labels become distances. */
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

/** Runs what follows where the accumulator is below `pivot`, else what comes after that. `lower` may be longer than a conditional jump. */
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
