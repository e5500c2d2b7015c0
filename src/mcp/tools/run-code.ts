import * as z from 'zod';
import { runEnvironment } from '../../execution/check-environment.ts';
import { defineTool } from '../define-tool.ts';
import { executionFacts, executionOutput } from '../present/execution-output.ts';
import { runInSession } from '../run-in-session.ts';
import { backgroundArgument, environmentArgument, planFor, sessionFor, timeoutArgument } from './run-arguments.ts';
import { sessionArgument } from './session-argument.ts';

export const runCode = defineTool({
  name: 'run_code',
  title: 'Run code',
  description: `Runs code in a sandbox and keeps its state: variables, imports and files persist between calls, as in a notebook.

Returns what it printed, the value of the last expression, a traceback if it raised, its figures as images (no plt.show() or savefig needed), and the files it created or changed. After an error the session continues: fix the code and run only the part that failed.

The working directory is /workspace. Python has IPython magics, !command and top-level await. Each language has its own state; all share the files.

  {"code": "import pandas as pd\\ndf = pd.read_csv('sales.csv')\\ndf.describe()"}
  {"code": "const rows = [1, 2, 3]; rows.map(x => x * 2)", "language": "javascript"}

Code that runs longer than about 45 seconds continues in the background; the reply says how to get its result.`,
  input: z.strictObject({
    code: z.string().describe('Source code'),
    language: z
      .string()
      .max(40)
      .default('python')
      .describe('python, javascript, typescript, bash; if installed: c, cpp, go, rust, java, ruby, perl, r'),
    environment: environmentArgument,
    session_id: sessionArgument,
    timeout_ms: timeoutArgument,
    traceback_locals: z.boolean().default(false).describe('Show local variables in tracebacks'),
    background: backgroundArgument,
  }),
  output: executionOutput,
  facts: executionFacts,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  isLong: true,
  async handler({ code, language, environment, session_id, timeout_ms, traceback_locals, background }, call) {
    runEnvironment(environment); // before a session is opened
    const managed = await sessionFor(call, 'run_code', { session_id, timeout_ms });
    const plan = planFor(call, { timeout_ms, background });
    const options = { language, tracebackLocals: traceback_locals, environment, timeoutMs: plan.timeoutMs };
    return runInSession(managed, managed.run(code, options), plan, call);
  },
});
