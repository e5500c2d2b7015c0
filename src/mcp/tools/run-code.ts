import * as z from 'zod';
import { runEnvironment } from '../../execution/check-environment.ts';
import { defineTool } from '../define-tool.ts';
import { executionOutput } from '../present/execution-output.ts';
import { runInSession } from '../run-in-session.ts';
import { backgroundArgument, environmentArgument, sessionFor, timeoutArgument } from './run-arguments.ts';
import { sessionArgument } from './session-argument.ts';

export const runCode = defineTool({
  name: 'run_code',
  title: 'Run code',
  description: `Runs code in a sandbox and keeps its state: variables, imports and files persist between calls, as in a notebook.

Returns the output, the value of the last expression, a traceback if the code raised, images of the figures it drew (no plt.show() or savefig needed), and links to the files it created or changed. After an error the session continues: fix the code and run only the missing part.

The working directory is /workspace. Put files there with write_file, or load_file (if available). There is no network and no access to the host. input() gets end of file.

Python supports IPython magics, !command and top-level await. Each language has its own state; all share the files.

Examples:
  {"code": "import pandas as pd\\ndf = pd.read_csv('sales.csv')\\ndf.describe()"}
  {"code": "df.groupby('region').amount.sum().plot.bar()"}
  {"code": "const rows = [1, 2, 3]; rows.map(x => x * 2)", "language": "javascript"}

For code that runs longer than a few minutes, use background: true, then get_execution.`,
  input: z.strictObject({
    code: z.string().describe('Source code. The value of its last expression is returned'),
    language: z
      .string()
      .max(40)
      .default('python')
      .describe(
        'python, javascript, typescript or bash; c, cpp, go, rust, java, ruby, perl or r if the sandbox has the tools',
      ),
    environment: environmentArgument,
    session_id: sessionArgument,
    timeout_ms: timeoutArgument,
    traceback_locals: z.boolean().default(false).describe('Show the values of local variables in tracebacks'),
    background: backgroundArgument,
  }),
  output: executionOutput,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  isLong: true,
  async handler({ code, language, environment, session_id, timeout_ms, traceback_locals, background }, call) {
    runEnvironment(environment); // before a session is opened
    const managed = await sessionFor(call, 'run_code', { session_id, timeout_ms });
    const options = {
      language,
      tracebackLocals: traceback_locals,
      environment,
      ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
    };
    return runInSession(managed, managed.run(code, options), background, call);
  },
});
