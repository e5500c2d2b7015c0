// A program that takes too long is stopped; its session goes on.
import { openHotcell } from 'hotcell';

const hotcell = await openHotcell();
try {
  const session = await hotcell.open();
  await session.run('found = 0');

  const slow = await session.run('while True: found += 1', { timeoutMs: 500 });
  console.log(`${slow.outcome.kind} after ${slow.outcome.limitMs} ms, state ${slow.state}`);

  // Interrupted like a Ctrl-C: the variables are still there.
  const next = await session.run('found > 1000');
  console.log('found more than 1000:', next.value.text);

  // A signal stops it too, whenever you like.
  const abort = new AbortController();
  setTimeout(() => abort.abort(), 200);
  const stopped = await session.run('import time; time.sleep(60)', { signal: abort.signal });
  console.log(stopped.outcome.kind);
} finally {
  await hotcell.close();
}
