// Draw a chart in the sandbox and keep it here: node examples/chart.mjs [file]
import { writeFile } from 'node:fs/promises';
import { openHotcell } from 'hotcell';

const file = process.argv[2] ?? 'chart.png';
const hotcell = await openHotcell();
try {
  const session = await hotcell.open();
  const { outcome, displays } = await session.run(`
import numpy as np
import matplotlib.pyplot as plt

x = np.linspace(0, 2 * np.pi, 200)
plt.plot(x, np.sin(x), label="sin")
plt.plot(x, np.cos(x), label="cos")
plt.legend()
`);
  if (outcome.kind !== 'ok') throw new Error(outcome.message ?? outcome.kind);
  // Captured without plt.show(); the richest way to show it is the last.
  const figure = displays[0].representations.at(-1);
  await writeFile(file, figure.data);
  console.log(`${figure.mediaType}, saved to ${file}`);
} finally {
  await hotcell.close();
}
