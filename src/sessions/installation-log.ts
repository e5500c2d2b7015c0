import * as z from 'zod';
import { HotcellError } from '../errors/hotcell-error.ts';
import { type Installation, MANAGERS } from './installation.ts';

/** The installations of one session that added packages, in order. The record of a persistent session has them, too. */
export interface InstallationLog {
  all(): readonly Installation[];
  /** Throws if the session has as many as it may have. */
  requireRoom(): void;
  /** Resolves when the record has it. One that added nothing is left out. */
  add(installation: Installation): Promise<void>;
  /** Takes out those with one of these layers, which are gone from the store. */
  withdraw(layers: readonly string[]): void;
}

/** SECURITY: each costs links in the data folder and room in a record, and two versions in turn are an installation each time. */
const MOST = 200;
/** SECURITY: a lock may name five thousand packages, and all are held in memory and in the record, which servers read whenever they look for sessions. */
const MOST_NAMES = 20_000;

/** `keep` writes the record of a persistent session again. */
export function createInstallationLog(before: readonly Installation[], keep: () => Promise<void>): InstallationLog {
  let log = [...before];
  return {
    all: () => [...log],
    requireRoom: () => {
      const names = log.reduce((sum, { installed, superseded }) => sum + installed.length + superseded.length, 0);
      if (log.length < MOST && names < MOST_NAMES) return;
      const limit = log.length < MOST ? `${MOST_NAMES} installed packages` : `${MOST} installations`;
      throw new HotcellError('install_failed', `the session has ${limit}, which is the limit`, {
        remedy: 'Open a new session, and install there what you need in one call.',
      });
    },
    add: async (installation) => {
      if (installation.layers.length === 0) return;
      log.push(installation);
      await keep();
    },
    withdraw: (gone) => {
      log = log.filter(({ layers }) => !layers.some((key) => gone.includes(key)));
    },
  };
}

const text = z.string().max(1000);
const versioned = z.object({ name: text, version: text });

/** SECURITY: a key becomes a path of the store. */
const layerKey = z.string().regex(/^[0-9a-f]{64}$/);

/** An installation as a record has it. */
export const installationSchema = z.object({
  manager: z.enum(MANAGERS),
  installed: z.array(versioned),
  present: z.array(versioned),
  superseded: z.array(z.object({ name: text, from: text, to: text })),
  needsReset: z.boolean(),
  layers: z.array(layerKey),
  reused: z.boolean(),
  durationMs: z.number(),
}) satisfies z.ZodType<Installation>;
