// Open a sandbox, run code in it, close it. Variables live from one run to the next.
import { openHotcell } from 'hotcell';

const hotcell = await openHotcell();
try {
  const session = await hotcell.open();
  console.log(`isolation: ${session.isolation.driver} (level ${session.isolation.level})`);

  await session.run('x = 6');
  const { value } = await session.run('x * 7');
  console.log('x * 7 =', value.text);

  // A program that fails is an outcome, not an exception: nothing is thrown here.
  const { outcome } = await session.run('x / 0');
  console.log('x / 0:', outcome.kind, outcome.name);
} finally {
  await hotcell.close();
}
// In TypeScript, and from Node 24 on, `await using hotcell = await openHotcell()` closes it by itself.
