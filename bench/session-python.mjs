import { openHotcell } from '../dist/index.js';

const question = `
import importlib.metadata, json, os, sys, pandas
print(json.dumps({
    "python": sys.executable,
    "base": os.path.realpath(sys.executable),
    "packages": os.path.dirname(os.path.dirname(pandas.__file__)),
    "versions": {"python": ".".join(map(str, sys.version_info[:3])), "pandas": pandas.__version__,
                 "numpy": importlib.metadata.version("numpy"), "ipython": importlib.metadata.version("ipython")},
}))`;

/** The Python of the process driver's sessions, found by asking a session. Its paths are valid on the host too. */
export async function sessionPython() {
  const hotcell = await openHotcell({ isolation: 'process', poolSize: 0 });
  try {
    const session = await hotcell.open();
    const { stdout, stderr, outcome } = await session.run(question);
    if (outcome.kind !== 'ok')
      throw new Error(`a session could not import pandas: ${stderr || JSON.stringify(outcome)}`);
    return JSON.parse(stdout);
  } finally {
    await hotcell.close();
  }
}
