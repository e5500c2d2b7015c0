import * as z from 'zod';
import { defineMethod, type Method } from '../../src/broker/method.ts';
import { type Deferred, deferred } from '../../src/lib/deferred.ts';

/** A call that waits until the test lets it through. */
export interface Gate {
  /** Resolves with the caller when a call has arrived. */
  readonly entered: Deferred<string | null>;
  readonly released: Deferred<void>;
  /** Resolves with the code of the reason when the call was ended from outside. */
  readonly ended: Deferred<string>;
}

export interface TestMethods {
  readonly methods: readonly Method[];
  /** The gate that calls of `gate` and `plain-gate` with this name wait at. */
  gate(name: string): Gate;
  /** How many calls wait at gates now. */
  waiting(): number;
}

const named = z.object({ name: z.string() });
const ALL = { inputBytes: Number.POSITIVE_INFINITY, outputBytes: Number.POSITIVE_INFINITY };

/** Methods that only tests register: each shows one thing that real ones do. */
export function createTestMethods(): TestMethods {
  const gates = new Map<string, Gate>();
  let waiting = 0;

  function gate(name: string): Gate {
    const known = gates.get(name) ?? { entered: deferred(), released: deferred(), ended: deferred() };
    gates.set(name, known);
    return known;
  }

  const gateMethod = (name: string, pausesClock: boolean) =>
    defineMethod({
      name,
      argument: named,
      pausesClock,
      audit: (argument) => argument,
      serve: async (argument, { caller, signal }) => {
        const { entered, released, ended } = gate(argument.name);
        waiting += 1;
        const stopped = new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
        try {
          entered.resolve(caller.execution);
          await Promise.race([released.promise, stopped]);
          return 'through';
        } catch (error) {
          ended.resolve((error as { code: string }).code);
          throw error;
        } finally {
          waiting -= 1;
        }
      },
    });

  return {
    gate,
    waiting: () => waiting,
    methods: [
      defineMethod({ name: 'echo', argument: z.unknown(), serve: async (argument) => argument }),
      defineMethod({ name: 'who', argument: z.unknown(), serve: async (_argument, { caller }) => caller }),
      gateMethod('gate', true),
      gateMethod('plain-gate', false),
      defineMethod({
        name: 'pipe',
        argument: z.unknown(),
        limits: ALL,
        serve: async (_argument, exchange) => {
          await exchange.result({ open: true });
          for await (const piece of exchange.input) await exchange.write(piece);
          await exchange.write(Buffer.from('the end'));
          await exchange.end();
        },
      }),
      defineMethod({
        name: 'unread',
        argument: named,
        limits: ALL,
        serve: async (argument, exchange) => {
          await gate(argument.name).released.promise;
          let bytes = 0;
          for await (const piece of exchange.input) bytes += piece.length;
          return bytes;
        },
      }),
      defineMethod({
        name: 'small',
        argument: z.object({ text: z.string() }),
        limits: { argumentBytes: 1_000, outputBytes: 1_000 },
        serve: async ({ text }) => text.repeat(100),
      }),
      defineMethod({
        name: 'secret',
        argument: z.unknown(),
        serve: async () => {
          throw new Error('/root/.ssh/id_rsa has hunter2');
        },
      }),
    ],
  };
}
