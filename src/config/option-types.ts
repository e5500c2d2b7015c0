import * as z from 'zod';
import { toHotcellError } from '../errors/hotcell-error.ts';
import { parsePolicy } from '../network/policy.ts';

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

/** A network setting as a list: `none`, or rules, `registries` and `all`. */
export const networkRules = z
  .array(z.string().max(300))
  .max(1000)
  .superRefine((rules, context) => {
    try {
      parsePolicy(rules);
    } catch (error) {
      const { message, remedy } = toHotcellError(error);
      context.addIssue({ code: 'custom', message, params: { remedy } });
    }
  });
