import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { debianBase } from '../../src/drivers/docker/image.ts';
import { createProcessDriver } from '../../src/drivers/process/index.ts';
import { findNodeRuntime, NODE_FOLDER } from '../../src/drivers/process/node-runtime.ts';
import { openHotcell } from '../../src/main.ts';
import { reasonToSkip, TARGETS } from '../support/targets.ts';

const javascript = { language: 'javascript' };
const folder = mkdtempSync(join(tmpdir(), 'hotcell-node-'));
chmodSync(folder, 0o755); // the data folder lies in it
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const noProcess = await reasonToSkip(TARGETS.shared);
describe.skipIf(noProcess !== undefined)(`a jail's Node ${noProcess ?? ''}`, () => {
  // As version managers keep it: outside /usr, in a folder of one user's, under another name.
  const closed = join(folder, 'closed to others', 'versions');
  mkdirSync(closed, { recursive: true, mode: 0o700 });
  const program = join(closed, 'my node');
  copyFileSync(process.execPath, program);

  test.each(['shared', 'single'] as const)('may lie anywhere on the host (%s)', async (shape) => {
    await using hotcell = await openHotcell({
      isolation: 'process',
      dataDir: join(folder, 'data'),
      poolSize: 0,
      preloads: [],
      drivers: { process: async (host) => createProcessDriver(host, { shape, node: program }) },
    });
    await using session = await hotcell.open();
    const { value } = await session.run('[process.version, process.execPath]', javascript);
    expect(value?.text).toBe(`[ '${process.version}', '${NODE_FOLDER}/bin/node' ]`);
    const shown = await session.run(`require('fs').existsSync(${JSON.stringify(folder)})`, javascript);
    expect(shown.value?.text).toBe('false');
  });

  test('is copied only where another user could not read it', async () => {
    const [mount] = await findNodeRuntime(join(folder, 'data'), program);
    expect(mount?.source === program).toBe(process.getuid?.() !== 0);
    expect(mount).toMatchObject({ target: `${NODE_FOLDER}/bin/node`, readOnly: true });
  });
});

const noDocker = await reasonToSkip(TARGETS.docker);
test.skipIf(noDocker !== undefined)('an image without Node is an outcome that names it', async () => {
  await using hotcell = await openHotcell({ isolation: 'docker', image: debianBase.image, poolSize: 0, preloads: [] });
  await using session = await hotcell.open();
  const { outcome, state } = await session.run('1 + 1', javascript);
  expect([outcome, state]).toMatchObject([{ kind: 'unavailable', missing: ['node'] }, 'kept']);
  expect((await session.run('1 + 1')).value?.text).toBe('2');
});
