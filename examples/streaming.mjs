// Show output as it is printed, then look at the result.
import { openHotcell } from 'hotcell';

const code = `
import sys, time
for step in range(1, 4):
    print(f"step {step}")
    time.sleep(0.2)
print("careful", file=sys.stderr)
"done"
`;

const hotcell = await openHotcell();
try {
  const session = await hotcell.open();
  const began = performance.now();
  const execution = session.run(code);
  for await (const event of execution) {
    if (event.kind !== 'stdout' && event.kind !== 'stderr') continue; // figures and the value come as events too
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`${seconds} s  ${event.kind}: ${event.text.trim()}`);
  }
  const { outcome, value } = await execution; // the same execution, awaited
  console.log(`${outcome.kind}, value ${value.text}`);
} finally {
  await hotcell.close();
}
