import type { GetPromptResult, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

interface PromptDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: z.ZodObject;
  text(args: Readonly<Record<string, string | undefined>>): string;
}

/** Prompts for the most common tasks. Clients offer them in a menu. */
export const PROMPTS: readonly PromptDefinition[] = [
  {
    name: 'analyse_data',
    title: 'Analyse a data file',
    description: 'Looks at a data file, checks its quality and answers a question about it.',
    args: z.object({
      file: z.string().describe('Path of the file'),
      question: z.string().optional().describe('What you want to know'),
    }),
    text: ({ file, question }) => `Analyse the data file ${file} in the Hotcell sandbox.

1. Copy it into the sandbox with load_file (if available and the file is on that machine; otherwise with write_file). Read it into a DataFrame with run_code.
2. Look at its shape, types, missing values, duplicates and outliers first, and report what you found.
3. ${question === undefined ? 'Find the three or four most important facts in it.' : `Answer this question: ${question}`}
4. Check the answer a second way, and draw one chart that shows it.

End with the answer in a few sentences, the numbers that support it, and the limits of the data.`,
  },
  {
    name: 'fix_script',
    title: 'Run and fix a script',
    description: 'Runs a script in the sandbox, fixes its errors and shows the changes.',
    args: z.object({
      file: z.string().describe('Path of the script'),
      expected: z.string().optional().describe('What it should do'),
    }),
    text: ({
      file,
      expected,
    }) => `Run the script ${file} in the Hotcell sandbox and make it work.${expected === undefined ? '' : ` It should: ${expected}`}

1. Copy the script and the files it needs into the workspace with load_file (if available; otherwise with write_file). Run it with run_command.
2. When it fails, read the traceback, find the cause and change as little as possible with edit_file. Run it again until it works.
3. Test edge cases: empty input, missing files, unusual values.

End with the changes as a diff, and the reason for each. Change nothing outside the sandbox unless I ask.`,
  },
  {
    name: 'make_chart',
    title: 'Make a chart',
    description: 'Draws a chart from a data file and saves it as PNG.',
    args: z.object({
      file: z.string().describe('Path of the data file'),
      chart: z.string().describe('What it should show'),
    }),
    text: ({ file, chart }) => `Draw a chart of ${file} in the Hotcell sandbox: ${chart}

Load the file with load_file (if available; otherwise with write_file) and look at its columns first. Draw with matplotlib: a title that states the message, labelled axes with units, no clutter. Look at the returned image, fix anything that is hard to read, and save the final chart as chart.png. Reply with the link to it.`,
  },
];

export function registerPrompts(server: McpServer): void {
  for (const { name, title, description, args, text } of PROMPTS) {
    server.registerPrompt(
      name,
      { title, description, argsSchema: args },
      (given): GetPromptResult => ({
        description,
        messages: [
          { role: 'user', content: { type: 'text', text: text(given as Record<string, string | undefined>) } },
        ],
      }),
    );
  }
}
