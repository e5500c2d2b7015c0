import * as z from 'zod';

/** A program that is looked up on the sandbox's PATH. */
const command = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]*$/, { error: 'not the name of a command' });
const fileName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, { error: 'not a file name' });
const argv = z.array(z.string().min(1).max(1000)).min(1).max(50);

/**
 * How a language without a kernel of its own is run: the source is written to a private folder, built there, and run in the workspace. In arguments
 * and values `{source}`, `{program}`, `{folder}` and `{workspace}` stand for the paths of the source, of the built program, of their folder and of the
 * workspace; `{main}` is the name of the source without its extension (in Java: the class with `main`). Goes to the guest with each execution.
 */
export const recipeSchema = z
  .strictObject({
    language: z
      .string()
      .max(40)
      .regex(/^[a-z][a-z0-9+#-]*$/, { error: 'not the name of a language: small letters, digits, + # -' })
      .describe('The name that executions ask for'),
    extensions: z
      .array(z.string().regex(/^\.[A-Za-z0-9]{1,10}$/, { error: 'not an extension such as .rs' }))
      .max(10)
      .default([])
      .describe('Of files that `hotcell run` takes for this language'),
    fileName: fileName.describe('The name that the source gets'),
    needs: z.array(command).min(1).max(10).describe('Commands without which it cannot run'),
    build: argv.optional().describe('The command that builds it; none for a language that is interpreted'),
    run: argv.describe('The command that runs it'),
    environment: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,100}$/), z.string().max(1000))
      .default({})
      .describe('Environment variables of both'),
    packages: z.string().max(200).optional().describe('What to install where a command is missing'),
  })
  .refine((recipe) => JSON.stringify(recipe).length <= 16_384, { error: 'larger than 16 KiB' });

export type Recipe = z.infer<typeof recipeSchema>;
/** As people write one. */
export type RecipeInput = z.input<typeof recipeSchema>;
