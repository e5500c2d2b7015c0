import { describe, expect, test } from 'vitest';
import type { NetworkSetting, RegistryHost } from './contract.ts';
import { decideBoth } from './policy.ts';
import { ceilingOf, isNone, type NetworkWish, sessionRules, settingText } from './session-rules.ts';

const REGISTRIES: readonly RegistryHost[] = [
  { rule: 'mirror.internal:8080', configured: true },
  { rule: 'files.example', configured: false },
];

const rulesOf = (wish: Partial<NetworkWish>, registries = REGISTRIES) =>
  sessionRules({ ceiling: 'none', wanted: 'none', isAsked: true, ...wish }, async () => registries);

async function decided(wish: Partial<NetworkWish>, target: string) {
  const [host, port] = target.split(':') as [string, string];
  return decideBoth(await rulesOf(wish), { host, port: Number(port), isAddress: /^[0-9.]+$/.test(host) });
}

describe('what a session asks for', () => {
  test.each<[NetworkSetting, NetworkSetting]>([
    ['none', 'none'],
    ['all', ['a.example', '*.b.example', '10.0.0.1:5432']],
    ['all', 'registries'],
    [['a.example', 'registries'], ['registries']],
    [['*.example'], ['a.example:443']],
  ])('under the ceiling %j may be %j', async (ceiling, wanted) => {
    await expect(rulesOf({ ceiling, wanted })).resolves.toBeDefined();
  });

  test.each<[NetworkSetting, NetworkSetting, string[]]>([
    ['none', 'all', ['all']],
    ['none', 'registries', ['registries']],
    [['a.example'], ['a.example', 'b.example'], ['b.example']],
    [['a.example'], ['a.example:22'], ['a.example:22']],
    [['all', '!a.example'], ['a.example'], ['a.example']],
  ])('under the ceiling %j may not be %j', async (ceiling, wanted, exceeds) => {
    await expect(rulesOf({ ceiling, wanted })).rejects.toMatchObject({
      code: 'network_denied',
      data: { exceeds },
      remedy: expect.stringContaining(`--network ${exceeds[0]}`),
    });
  });

  test('is only cut down to the ceiling if it is a default', async () => {
    const wish = { ceiling: ['a.example'], wanted: 'all' as const, isAsked: false };
    expect(await decided(wish, 'a.example:443')).toMatchObject({ allowed: true });
    expect(await decided(wish, 'b.example:443')).toMatchObject({ allowed: false });
  });

  test('never tells the hosts of the registries', async () => {
    const refused = await rulesOf({ wanted: ['registries', 'x.example'] }).catch((error: unknown) => error);
    expect(JSON.stringify(refused)).not.toContain('mirror');
    expect(String(refused)).not.toContain('mirror');
  });

  test('cannot be registries where none is known', async () => {
    await expect(rulesOf({ ceiling: 'all', wanted: 'registries' }, [])).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

describe('what a person granted', () => {
  test('is allowed beyond the ceiling, for this session', async () => {
    const wish = { ceiling: ['a.example'], wanted: ['a.example', 'b.example'], granted: ['b.example'] };
    expect(await decided(wish, 'b.example:443')).toMatchObject({ allowed: true });
    await expect(rulesOf({ ...wish, wanted: 'all' })).rejects.toMatchObject({ data: { exceeds: ['all'] } });
  });

  test('opens no private address, and nothing that the operator denied', async () => {
    const granted = { ceiling: ['!b.example'], wanted: ['10.0.0.1:5432'], granted: ['10.0.0.1:5432'] };
    expect(await decided(granted, '10.0.0.1:5432')).toMatchObject({ allowed: true, named: false });
    await expect(rulesOf({ ...granted, wanted: ['b.example'], granted: ['b.example'] })).rejects.toMatchObject({
      code: 'network_denied',
      data: { exceeds: ['b.example'], grantable: false },
    });
    await expect(rulesOf({ ...granted, wanted: ['c.example'] })).rejects.toMatchObject({ data: { grantable: true } });
  });
});

describe('a mirror that the host is configured for', () => {
  test.each<[NetworkSetting]>([['all'], ['registries'], [['registries']]])(
    'counts as named by the operator under the ceiling %j',
    async (ceiling) => {
      const wish = { ceiling, wanted: 'registries' as const };
      expect(await decided(wish, 'mirror.internal:8080')).toMatchObject({ allowed: true, named: true });
      expect(await decided(wish, 'files.example:443')).toMatchObject({ allowed: true, named: false });
    },
  );
});

test('a setting has a short text', () => {
  expect([settingText('all'), settingText([]), settingText(['a', '!b'])]).toEqual(['all', 'none', 'a, !b']);
  expect([isNone('none'), isNone([]), isNone(['none']), isNone(['a.example'])]).toEqual([true, true, true, false]);
});

describe('the ceiling of an owner', () => {
  test('is its own in place of the configured one, less or more, without what the configuration denies', async () => {
    const configured = ['a.example', '!evil.example'];
    expect(ceilingOf(configured, undefined)).toEqual(configured);
    expect(ceilingOf(configured, ['none'])).toEqual(['none']);
    const ceiling = ceilingOf(configured, ['all']);
    expect(await decided({ ceiling, wanted: 'all' }, 'b.example:443')).toMatchObject({ allowed: true });
    expect(await decided({ ceiling, wanted: 'all' }, 'evil.example:443')).toMatchObject({
      allowed: false,
      why: 'denied',
    });
    await expect(rulesOf({ ceiling, wanted: ['evil.example'] })).rejects.toMatchObject({ data: { grantable: false } });
  });
});
