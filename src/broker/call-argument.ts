import { createGatheredBytes } from '../lib/gathered-bytes.ts';
import { measureJson } from '../lib/json-limits.ts';
import { CallError, type Method } from './method.ts';

/** SECURITY: names cost ten times as much to parse as elements, and all is parsed in the turn of all guests. */
const ARGUMENT_LIMITS = { names: 20_000, levels: 64 };
const MESSAGE_CHARS = 1_000;

/** The argument of one call, as it arrives in pieces. Both methods throw a CallError. */
export interface CallArgument {
  push(bytes: Buffer): void;
  /** The checked value, when all pieces have arrived. No bytes stand for no argument. */
  value(): unknown;
}

/** `hold` reserves memory for a piece or the parsed value, and returns false if there is none left. */
export function createCallArgument(method: Method, hold: (bytes: number) => boolean): CallArgument {
  const gathered = createGatheredBytes();
  const { argumentBytes, argumentMembers } = method.limits;

  function requireMemory(bytes: number): void {
    if (!hold(bytes)) throw new CallError('too-many', 'the arguments of your calls take too much memory');
  }

  return {
    push(bytes) {
      if (gathered.length() + bytes.length > argumentBytes) {
        throw new CallError('too-large', `the argument of ${method.name} has more than ${argumentBytes} bytes`);
      }
      requireMemory(bytes.length);
      gathered.push(bytes);
    },
    value() {
      const text = Buffer.concat(gathered.take()).toString('utf8');
      const { excess, structureBytes } = measureJson(text, { members: argumentMembers, ...ARGUMENT_LIMITS });
      if (excess !== undefined) throw new CallError('bad-argument', `the argument has ${excess}`);
      // SECURITY: `[[],[],…` takes thirty times its text, and is held while the call waits or is served.
      requireMemory(structureBytes);
      const checked = method.argument.safeParse(parsed(text));
      if (checked.success) return checked.data;
      const [issue] = checked.error.issues;
      const where = issue?.path.length === 0 ? '' : `${issue?.path.map(String).join('.')}: `;
      throw new CallError('bad-argument', `${where}${issue?.message}`.slice(0, MESSAGE_CHARS));
    },
  };
}

function parsed(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw new CallError('bad-argument', 'the argument is not JSON');
  }
}
