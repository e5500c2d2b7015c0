import * as z from 'zod';
import { defineTool } from '../define-tool.ts';
import { executionOutput } from '../present/execution-output.ts';
import { runInSession } from '../run-in-session.ts';
import { backgroundArgument, sessionFor, timeoutArgument } from './run-arguments.ts';
import { sessionArgument } from './session-argument.ts';

export const runCode = defineTool({
  name: 'run_code',
  title: 'Run code',
  description: `Runs code in a sandbox and keeps its state: variables, imports and files are there in the next call, as in a notebook.

Answers with what was printed, the value of the last expression, a traceback if it raised, pictures of the figures it drew (no plt.show() or savefig needed), and links to files it made or changed. After an error the session goes on: fix the code and run only what is missing.

The working folder is /workspace. Put files there with write_file, or load_file (if it is offered). There is no network, and nothing of the host is visible. input() gets end of file.

Python has IPython's magics, !command and top-level await. Other languages keep a state of their own; all share the files.

Examples:
  {"code": "import pandas as pd\\ndf = pd.read_csv('sales.csv')\\ndf.describe()"}
  {"code": "df.groupby('region').amount.sum().plot.bar()"}
  {"code": "const rows = [1, 2, 3]; rows.map(x => x * 2)", "language": "javascript"}

For work of more than a few minutes: background: true, then get_execution.`,
  input: z.strictObject({
    code: z.string().describe('The source. Its last expression is the value that comes back'),
    language: z
      .string()
      .max(40)
      .default('python')
      .describe(
        'python, javascript, typescript, bash, or what the sandbox has tools for: c, cpp, go, rust, java, ruby, perl, r',
      ),
    session_id: sessionArgument,
    timeout_ms: timeoutArgument,
    traceback_locals: z.boolean().default(false).describe('Show the values of local variables where the code failed'),
    background: backgroundArgument,
  }),
  output: executionOutput,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  isLong: true,
  async handler({ code, language, session_id, timeout_ms, traceback_locals, background }, call) {
    const managed = await sessionFor(call, 'run_code', { session_id, timeout_ms });
    const options = {
      language,
      tracebackLocals: traceback_locals,
      ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
    };
    return runInSession(managed, { code, options, isBackground: background }, call);
  },
});
