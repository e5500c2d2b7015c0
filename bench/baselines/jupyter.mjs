import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterwards } from '../cleanup.mjs';

const script = fileURLToPath(new URL('jupyter_driver.py', import.meta.url));

/**
 * A program that drives plain ipykernels through jupyter_client and measures with its own clock, so that the
 * communication with it does not count.
 * `ask('open')`, `ask('calls', { code, count })`, …: see jupyter_driver.py.
 */
export function startJupyter(python) {
  // A settings folder of its own, because the user's IPython profile would influence the measurement.
  const home = mkdtempSync(join(tmpdir(), 'hotcell-bench-'));
  const child = spawn(python, [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // Ctrl-C is for the benchmark; the driver ends with its stdin, and ends its kernels
    env: {
      ...process.env,
      IPYTHONDIR: home,
      JUPYTER_CONFIG_DIR: home,
      JUPYTER_DATA_DIR: home,
      JUPYTER_RUNTIME_DIR: home,
      JUPYTER_PLATFORM_DIRS: '1',
    },
  });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const closed = once(child, 'close');
  const close = afterwards(async () => {
    child.stdin.end();
    await closed;
    rmSync(home, { recursive: true, force: true });
  });
  return {
    pid: child.pid,
    close,
    ask: async (operation, details = {}) => {
      child.stdin.write(`${JSON.stringify({ operation, ...details })}\n`);
      const { value, done } = await answers.next();
      if (done) throw new Error('the Jupyter driver ended');
      const answer = JSON.parse(value);
      if (answer.error !== undefined) throw new Error(`Jupyter: ${answer.error}`);
      return answer;
    },
  };
}
