import * as z from 'zod';

export const MiB = 1_048_576;
export const DAY_MS = 86_400_000;

/** An integer option. Values from the environment are text, so it is coerced. */
export const wholeNumber = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** The name of a container image, with an optional registry, tag or digest. */
export const imageName = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]*$/, { error: 'not the name of an image' });
