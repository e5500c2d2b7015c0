import { describe, expect, test } from 'vitest';
import { createTestMethods } from '../../test/support/test-methods.ts';
import { loadConfig } from '../config/load.ts';
import { HotcellError } from '../errors/hotcell-error.ts';
import type { CallServer, LiveSandbox } from '../guest/live-sandbox.ts';
import type { GuestNetwork } from '../guest/network.ts';
import type { NetworkSetting } from '../network/contract.ts';
import { createNetworking, type NetworkedSession, type NetworkingOptions } from './networking.ts';

describe('a session without a network', () => {
  test('tells its sandbox nothing, whatever the ceiling', async () => {
    const { give, told } = await session({ ceiling: 'all' });
    await give();
    expect(told).toEqual(['closed']);
  });

  test('serves the calls of programs, if there are methods for all', async () => {
    const { give, told } = await session({}, { methods: createTestMethods().methods });
    await give();
    expect(told).toEqual(['calls of programs', 'closed']);
  });
});

describe('a session with a network', () => {
  test('opens it in each sandbox, and serves the calls of the supervisor alone', async () => {
    const { give, told } = await session({ ceiling: 'all', asked: ['a.example'] });
    await give();
    await give({});
    expect(told).toEqual(['calls', 'open', 'calls', 'open']);
  });

  test('is that of the configuration, as far as the ceiling allows it', async () => {
    expect((await session({}, { sessionNetwork: ['all'] })).setting()).toBe('none');
    expect((await session({ ceiling: ['a.example'] }, { sessionNetwork: ['all'] })).setting()).toEqual(['all']);
    const kept = await session({ kept: ['b.example'] });
    await kept.give();
    expect([kept.setting(), kept.told]).toEqual([['b.example'], ['closed']]);
  });

  test('that is more than the ceiling is never begun', async () => {
    await expect(session({ asked: ['a.example'] })).rejects.toMatchObject({ code: 'network_denied' });
  });

  test('whose guest refuses is an error, and leaves no sandbox', async () => {
    const { give, told } = await session({ ceiling: 'all', asked: 'all' });
    const failed = give({ network: async () => Promise.reject(new HotcellError('disk_full', 'full')) });
    await expect(failed).rejects.toMatchObject({ code: 'disk_full' });
    expect(told.at(-1)).toBe('disposed');
  });

  test('whose guest stays silent is given up in time, and leaves no sandbox', async () => {
    const { give, told } = await session({ ceiling: 'all', asked: 'all' }, { startTimeoutMs: 100 });
    await expect(give({ network: () => new Promise(() => {}) })).rejects.toMatchObject({ code: 'start_timeout' });
    expect(told.at(-1)).toBe('disposed');
  });
});

describe('a setting', () => {
  test('opens and closes the network of a live sandbox; between rules the guest has nothing to do anew', async () => {
    const { give, set, setting, told } = await session({ ceiling: 'all' });
    await give();
    await set(['a.example']);
    await set(['b.example']);
    await set('none');
    expect(told).toEqual(['closed', 'calls', 'open', 'calls', 'closed']);
    expect(setting()).toBe('none');
  });

  test('above the ceiling changes nothing', async () => {
    const { give, set, setting, told } = await session({ ceiling: ['a.example'], asked: ['a.example'] });
    await give();
    await expect(set('all')).rejects.toMatchObject({ code: 'network_denied', data: { exceeds: ['all'] } });
    expect([setting(), told]).toEqual([['a.example'], ['calls', 'open']]);
  });

  test('that a person granted stays granted to this session', async () => {
    const { give, set, setting } = await session({ ceiling: 'none' });
    await give();
    await set(['a.example'], ['a.example']);
    await set('none');
    await set(['a.example']);
    expect(setting()).toEqual(['a.example']);
  });

  test('of many at once is the last', async () => {
    const { give, set, setting, told } = await session({ ceiling: 'all' });
    await give();
    await Promise.all([set('all'), set('none'), set(['a.example']), set('none')]);
    expect([setting(), told.at(-1)]).toEqual(['none', 'closed']);
  });
});

/** A session of a Hotcell with these options, and a sandbox that notes what it is told. */
async function session(
  asked: Partial<NetworkedSession>,
  { methods = [], ...options }: Partial<NetworkingOptions['config']> & Partial<Pick<NetworkingOptions, 'methods'>> = {},
) {
  const config = { ...loadConfig({}, { env: {} }), ...options };
  const registryHosts = async () => [];
  const networking = createNetworking({
    config,
    methods,
    registryHosts,
    environment: {},
    secrets: {},
    reach: undefined,
  });
  const none = { asked: undefined, kept: undefined, ceiling: undefined, granted: undefined, mayInstall: false };
  const made = await networking.begin({
    ...{ owner: 'anna', session: 's-1', onCall: undefined, onEvent: undefined },
    ...{ allowedServices: undefined, services: undefined, keptServices: undefined, onUnreadable: undefined },
    ...{ ...none, ...asked },
  });
  const told: string[] = [];
  const sandbox = (given: Partial<LiveSandbox> = {}) =>
    ({
      serveCalls: (_serve: CallServer, { isForPrograms }: { isForPrograms: boolean }) =>
        told.push(isForPrograms ? 'calls of programs' : 'calls'),
      network: async ({ listen }: GuestNetwork) => {
        told.push(listen.length === 0 ? 'closed' : 'open');
        return {};
      },
      sandbox: {},
      dispose: async () => void told.push('disposed'),
      ...given,
    }) as unknown as LiveSandbox;
  const first = sandbox();
  return {
    told,
    setting: made.setting,
    give: (given?: Partial<LiveSandbox>) => made.give(given === undefined ? first : sandbox(given)),
    set: (setting: NetworkSetting, granted?: readonly string[]) =>
      made.set(setting, { granted, use: async (work) => work(first) }),
  };
}
