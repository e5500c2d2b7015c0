import type { GetPromptResult, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

interface PromptDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: z.ZodObject;
  text(args: Readonly<Record<string, string | undefined>>): string;
}

/** What people do most, as prompts that a client offers in its menu. */
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

1. Bring it in with load_file (if it is offered and the file is on its machine; else with write_file). Read it into a DataFrame with run_code.
2. Look at its shape, types, missing values, duplicates and odd values before anything else, and say what you found.
3. ${question === undefined ? 'Find the three or four things in it that matter most.' : `Answer this: ${question}`}
4. Check the answer a second way, and draw one chart that shows it.

End with the answer in a few sentences, the numbers behind it, and what the data cannot tell.`,
  },
  {
    name: 'fix_script',
    title: 'Run and fix a script',
    description: 'Runs a script in the sandbox, repairs what fails and shows the changes.',
    args: z.object({
      file: z.string().describe('Path of the script'),
      expected: z.string().optional().describe('What it should do'),
    }),
    text: ({
      file,
      expected,
    }) => `Run the script ${file} in the Hotcell sandbox and make it work.${expected === undefined ? '' : ` It should: ${expected}`}

1. Bring it and what it needs into the workspace with load_file (if it is offered; else with write_file). Run it with run_command.
2. When it fails, read the traceback, find the cause and change as little as possible with edit_file. Run it again, until it does what it should.
3. Try the cases at its edges: empty input, missing files, odd values.

End with the changes as a diff and why each was needed. Change nothing outside the sandbox unless I ask.`,
  },
  {
    name: 'make_chart',
    title: 'Make a chart',
    description: 'Draws a chart from a data file and saves it as PNG.',
    args: z.object({
      file: z.string().describe('Path of the data'),
      chart: z.string().describe('What it should show'),
    }),
    text: ({ file, chart }) => `Draw a chart of ${file} in the Hotcell sandbox: ${chart}

Load the file with load_file (if it is offered; else with write_file) and look at its columns first. Draw with matplotlib: a title that says what is to be seen, labelled axes with units, no clutter. Look at the picture that comes back, mend what is hard to read, and save the final one as chart.png. Answer with the link to it.`,
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
