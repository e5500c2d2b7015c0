import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { packageRoot } from '../../lib/package-root.ts';
import { ownFacts } from '../../sessions/server-facts.ts';
import { howServeIsCalled } from '../how-called.ts';
import { portTaken } from './already-serving.ts';

const taken = new HotcellError('invalid_argument', '127.0.0.1:7878 is in use by another program');

it('names the Hotcell that has the port, and how to have another port the way it was started', () => {
  const facts = ownFacts(0, { command: 'serve', url: 'http://127.0.0.1:7878' });
  expect(portTaken(taken, 7878, [facts], 'npm start --')).toMatchObject({
    message: `another Hotcell is serving on http://127.0.0.1:7878 already (pid ${process.pid})`,
    remedy: `Use that one, stop it (kill ${process.pid}), or choose another port: npm start -- --port 7879`,
  });
  expect(portTaken(taken, 7879, [facts, ownFacts(0)], 'hotcell serve')).toMatchObject({
    message: taken.message,
    remedy: 'Choose another port: hotcell serve --port 7880 (0: any free port)',
  });
});

it('tells how flags are passed through npm', () => {
  expect(howServeIsCalled({ npm_lifecycle_event: 'start' })).toBe('npm start --');
  expect(howServeIsCalled({ npm_command: 'exec' })).toBe('npx hotcell serve');
});

it('names absolute paths outside of the clone, where npx could run the Hotcell of a stranger', () => {
  const cli = join(packageRoot(), 'dist', 'cli.js');
  expect(howServeIsCalled({ npm_command: 'exec' }, tmpdir())).toBe(`${process.execPath} ${cli} serve`);
});
