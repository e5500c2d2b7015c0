import * as z from 'zod';

const packageSchema = z.object({ name: z.string(), version: z.string() });

const manifestSchema = z.object({
  format: z.literal(1),
  owner: z.string(),
  manager: z.enum(['pip', 'npm']),
  packages: z.array(packageSchema),
  files: z.number(),
  bytes: z.number(),
  /** Space that it takes, which the limits of the store are about. */
  occupiedBytes: z.number(),
  madeAt: z.number(),
});

/** The description of a layer in the store. It is written before the layer gets its name. */
export type Manifest = z.infer<typeof manifestSchema>;

/** Undefined if it is not the manifest of a layer that this version can use. */
export function readManifest(text: string): Manifest | undefined {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
