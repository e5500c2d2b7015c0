import * as z from 'zod';

/** The name of a program, looked up on the sandbox's PATH. */
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
 * How to run a language without a kernel: the source is written to a private folder, built there, and run in the
 * workspace. In arguments and values `{source}`, `{program}`, `{folder}` and `{workspace}` stand for the paths of the
 * source, of the built program, of their folder and of the workspace; `{main}` is the name of the source without its
 * extension (in Java: the class with `main`). It is sent to the guest with each execution.
 */
export const recipeSchema = z
  .strictObject({
    language: z
      .string()
      .max(40)
      .regex(/^[a-z][a-z0-9+#-]*$/, { error: 'not the name of a language: small letters, digits, + # -' })
      .describe('Name of the language, as given to an execution'),
    extensions: z
      .array(z.string().regex(/^\.[A-Za-z0-9]{1,10}$/, { error: 'not an extension such as .rs' }))
      .max(10)
      .default([])
      .describe('File extensions that `hotcell run` maps to this language'),
    fileName: fileName.describe('File name of the source'),
    needs: z.array(command).min(1).max(10).describe('Commands that the sandbox must have'),
    build: argv.optional().describe('Command that builds the program; absent for an interpreted language'),
    run: argv.describe('Command that runs the program'),
    environment: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,100}$/), z.string().max(1000))
      .default({})
      .describe('Environment variables of both commands'),
    packages: z.string().max(200).optional().describe('Packages to install if a command is missing'),
  })
  .refine((recipe) => JSON.stringify(recipe).length <= 16_384, { error: 'larger than 16 KiB' });

export type Recipe = z.infer<typeof recipeSchema>;
/** A recipe as written in the configuration. */
export type RecipeInput = z.input<typeof recipeSchema>;
