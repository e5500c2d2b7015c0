import { describe, expect, test } from 'vitest';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { deferred } from '../../lib/deferred.ts';
import { createSessionInstalls, type InstalledPackages, type WantedInstall } from '../installs.ts';
import type { Exchange } from '../method.ts';
import { packagesInstallMethod } from './packages-install.ts';

const NOTHING: InstalledPackages = { installed: [], present: [], superseded: [], needsReset: false };
const WANTED = { manager: 'pip', packages: ['httpx'], upgrade: false };

function exchangeOf(session: string, signal = new AbortController().signal): Exchange {
  return { caller: { owner: 'anna', session, execution: null }, signal } as Exchange;
}

describe('packages.install', () => {
  test('takes names and nothing else, within limits', () => {
    const { argument } = packagesInstallMethod(createSessionInstalls());
    expect(argument.safeParse({ manager: 'pip', packages: ['x'] })).toMatchObject({ data: { upgrade: false } });
    for (const wrong of [
      { manager: 'apt', packages: ['x'] },
      { manager: 'pip', packages: [] },
      { manager: 'pip', packages: ['x'], session: 's-2' },
      { manager: 'pip', packages: ['x'], index: 'https://x.example' },
      { manager: 'pip', packages: Array.from({ length: 201 }, () => 'x') },
      { manager: 'pip', packages: ['x'.repeat(1001)] },
    ])
      expect(argument.safeParse(wrong).success, JSON.stringify(wrong).slice(0, 80)).toBe(false);
  });

  test('installs into the session of the caller, and into no other', async () => {
    const installs = createSessionInstalls();
    const asked: string[] = [];
    for (const name of ['s-1', 's-2'])
      installs.add(name, async ({ packages }) => {
        asked.push(`${name} ${packages.join()}`);
        return { ...NOTHING, installed: [{ name: 'httpx', version: '1' }] };
      });
    const { serve } = packagesInstallMethod(installs);
    expect(await serve(WANTED, exchangeOf('s-2'))).toMatchObject({ installed: [{ name: 'httpx', version: '1' }] });
    expect(asked).toEqual(['s-2 httpx']);
    installs.remove('s-2');
    await expect(serve(WANTED, exchangeOf('s-2'))).rejects.toMatchObject({ code: 'refused' });
  });

  test("fails with the resolver's words and what to do", async () => {
    const installs = createSessionInstalls();
    installs.add('s-1', async () => {
      throw new HotcellError('packages_conflict', 'no such package', { remedy: 'Change the names.' });
    });
    await expect(packagesInstallMethod(installs).serve(WANTED, exchangeOf('s-1'))).rejects.toMatchObject({
      code: 'packages-conflict',
      message: 'no such package. Change the names.',
    });
  });

  test('does one installation of a session at a time, and lets only some wait', async () => {
    const installs = createSessionInstalls();
    const gate = deferred<InstalledPackages>();
    const begun: WantedInstall[] = [];
    installs.add('s-1', (wanted) => {
      begun.push(wanted);
      return gate.promise;
    });
    const { serve } = packagesInstallMethod(installs);
    const stop = new AbortController();
    const first = serve(WANTED, exchangeOf('s-1'));
    const cancelled = serve(WANTED, exchangeOf('s-1', stop.signal));
    const others = Array.from({ length: 14 }, () => serve(WANTED, exchangeOf('s-1')));
    await expect(serve(WANTED, exchangeOf('s-1'))).rejects.toMatchObject({ code: 'too-many' });
    expect(begun).toHaveLength(1);
    stop.abort(new Error('cancelled'));
    gate.resolve(NOTHING);
    await expect(cancelled).rejects.toThrow('cancelled');
    await Promise.all([first, ...others]);
    expect(begun).toHaveLength(15);
    await serve(WANTED, exchangeOf('s-1'));
  });
});
