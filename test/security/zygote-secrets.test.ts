import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Hotcell } from '../../src/main.ts';
import { makeHome } from '../support/child-hotcell.ts';
import { jailProcesses } from '../support/host-traces.ts';
import { foundInMemory } from '../support/process-memory.ts';
import { openTarget, reasonToSkip, TARGETS } from '../support/targets.ts';

const reason = process.getuid?.() === 0 ? await reasonToSkip(TARGETS.shared) : 'only root reads the memory of others';

describe.skipIf(reason !== undefined)(`what a session brings${reason === undefined ? '' : ` (${reason})`}`, () => {
  const { home, remove } = makeHome();
  let hotcell: Hotcell;

  beforeAll(async () => {
    hotcell = await openTarget(TARGETS.shared, { dataDir: home, preloads: ['hashlib', 'decimal', 'json'] });
  });
  afterAll(async () => {
    await hotcell?.close();
    remove();
  });

  it('is in no process of its jail once it is closed: neither in the zygote nor in a later session', async () => {
    const secrets = { variable: unique(), name: `N_${unique()}`, code: unique(), file: unique(), path: unique() };
    const hostile = { conf: `/workspace/${unique()}.cnf`, library: `/workspace/${unique()}.so` };
    const first = await hotcell.open({
      environment: {
        API_KEY: secrets.variable,
        [secrets.name]: '1',
        // Each of these makes a library load what it names, if it is set in the process that imports the preloads.
        OPENSSL_CONF: hostile.conf,
        LD_PRELOAD: hostile.library,
      },
    });
    await hotcell.settled();
    await first.run(`held = "${secrets.code}"`);
    await first.files.write(`${secrets.path}.txt`, `content: ${secrets.file}`);
    await first.run(`held_file = open("${secrets.path}.txt").read()`);
    const needles = [...Object.values(secrets), ...Object.values(hostile)].sort();
    // The search finds what a session holds, as long as it lives.
    expect(foundInJails(needles)).toEqual(needles);
    await first.close();

    const later = [await hotcell.open(), await hotcell.open()];
    await hotcell.settled();
    for (const session of later) await session.run('import json; json.dumps({})');
    expect(foundInJails(needles)).toEqual([]);
    for (const session of later) await session.close();
  });

  function foundInJails(needles: readonly string[]): string[] {
    return [...new Set(jailProcesses(home).flatMap((pid) => foundInMemory(pid, needles)))].sort();
  }
});

function unique(): string {
  return randomBytes(12).toString('hex');
}
