import * as z from 'zod';

const MOST_VARIABLES = 100;
/**
 * The size limit: with the rest of the guest's configuration, the variables must fit into the head of one frame
 * (docs/guest-protocol.md, section 1).
 */
const MOST_BYTES = 49_152;

/** Environment variables that a caller sets in the sandbox. */
export const environmentVariables = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, { error: 'not the name of an environment variable' }),
    z
      .string()
      .max(32_768)
      .regex(/^[^\0\p{Surrogate}]*$/u, { error: 'contains a NUL character or a lone surrogate' }),
  )
  .refine((variables) => Object.keys(variables).length <= MOST_VARIABLES, {
    error: `more than ${MOST_VARIABLES} variables`,
  })
  .refine((variables) => Buffer.byteLength(JSON.stringify(variables)) <= MOST_BYTES, {
    error: `more than ${MOST_BYTES} bytes together`,
  });
