import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide, decideBoth, NO_NETWORK, parsePolicy, within } from './policy.ts';

const allows = (setting: Parameters<typeof parsePolicy>[0], host: string, port = 443) =>
  decide(parsePolicy(setting), host, port).allowed;

describe('a policy', () => {
  test('none allows nothing', () => {
    expect(allows('none', 'example.com')).toBe(false);
    expect(decide(NO_NETWORK, '127.0.0.1', 80)).toEqual({ allowed: false, why: 'not-allowed' });
  });

  test('all allows every host and port', () => {
    expect(decide(parsePolicy('all'), 'example.com', 5432)).toEqual({ allowed: true, rule: 'all', named: false });
  });

  test('a host allows itself, on the ports of the web only', () => {
    expect(allows(['example.com'], 'EXAMPLE.com.')).toBe(true);
    expect(allows(['example.com'], 'example.com', 80)).toBe(true);
    expect(allows(['example.com'], 'example.com', 22)).toBe(false);
    expect(allows(['example.com:22'], 'example.com', 22)).toBe(true);
    expect(allows(['example.com:22'], 'example.com', 443)).toBe(false);
  });

  test.each([
    'example.com.evil.org',
    'evilexample.com',
    'example.com@evil.org',
    'sub.example.com',
    'example.comx',
    'example.com%2eevil.org',
    'example.com\0.evil.org',
  ])('a host does not allow %j', (host) => {
    expect(allows(['example.com'], host)).toBe(false);
  });

  test('a star allows names below at any depth, and not the name itself', () => {
    expect(allows(['*.example.com'], 'a.example.com')).toBe(true);
    expect(allows(['*.example.com'], 'a.b.example.com')).toBe(true);
    expect(allows(['*.example.com'], 'example.com')).toBe(false);
    expect(allows(['*.example.com'], 'evilexample.com')).toBe(false);
    expect(allows(['*.example.com:8443'], 'a.example.com', 8443)).toBe(true);
  });

  test('what is denied is refused whatever allows it, on every port unless the rule names one', () => {
    const setting = ['all', '*.example.com', '!secret.example.com', '!other.org:22', '!169.254.169.254'];
    expect(decide(parsePolicy(setting), 'secret.example.com', 9999)).toEqual({ allowed: false, why: 'denied' });
    expect(allows(setting, 'SECRET.example.com.')).toBe(false);
    expect(allows(setting, 'other.org', 22)).toBe(false);
    expect(allows(setting, 'other.org', 443)).toBe(true);
    for (const spelling of [
      '2852039166',
      '0xa9fea9fe',
      '0251.0376.0251.0376',
      '::ffff:a9fe:a9fe',
      '[::ffff:169.254.169.254]',
    ])
      expect(allows(setting, spelling, 80)).toBe(false);
  });

  test('registries are the hosts that the caller found, of which only those that are configured count as named', () => {
    const policy = parsePolicy(
      ['registries', 'api.example.com'],
      [
        { rule: 'mirror.internal:8080', configured: true },
        { rule: 'files.example.org', configured: false },
      ],
    );
    expect(decide(policy, 'mirror.internal', 8080)).toEqual({
      allowed: true,
      rule: 'mirror.internal:8080',
      named: true,
    });
    expect(decide(policy, 'files.example.org', 443)).toEqual({
      allowed: true,
      rule: 'files.example.org',
      named: false,
    });
    expect(decide(policy, 'api.example.com', 443)).toMatchObject({ named: true });
    expect(decide(policy, 'mirror.internal', 443).allowed).toBe(false);
  });

  test.each([
    ['*', 'a star alone is no rule'],
    ['a.*.com', 'a star may only stand at the beginning'],
    ['*.*.com', 'a star may only stand at the beginning'],
    ['https://example.com', 'it has a slash'],
    ['10.0.0.0/8', 'it has a slash'],
    ['example.com:99999', 'its port is not a number'],
    ['example.com:*', 'its port is not a number'],
    ['*.10.0.0.1', 'an address has no subdomains'],
    ['user@example.com', 'it does not name a host'],
    ['a\r\nb', 'it does not name a host'],
    ['!', 'it does not name a host'],
    ['!!a.b', 'it does not name a host'],
    ['', 'it does not name a host'],
  ])('%j is no rule: %s', (rule, problem) => {
    expect(() => parsePolicy([rule])).toThrow(problem);
  });

  test('none cannot stand beside rules', () => {
    expect(() => parsePolicy(['none', 'a.b'])).toThrow('none cannot stand beside');
    expect(parsePolicy(['none'])).toEqual(NO_NETWORK);
  });
});

describe('a ceiling', () => {
  test.each([
    ['all', ['a.b', '*.c.d:8080'], []],
    ['none', 'none', []],
    ['none', ['a.b'], ['a.b']],
    [['a.b'], 'all', ['all']],
    [['a.b'], ['a.b'], []],
    [['a.b'], ['a.b:443'], []],
    [['a.b'], ['a.b:22'], ['a.b:22']],
    [['a.b:443'], ['a.b'], ['a.b:80']],
    [['*.a.b'], ['x.a.b', '*.x.a.b'], []],
    [['*.a.b'], ['a.b'], ['a.b']],
    [['x.a.b'], ['*.a.b'], ['*.a.b']],
    [['*.a.b', '!x.a.b'], ['*.a.b'], []],
    [['*.a.b', '!x.a.b'], ['x.a.b', 'y.a.b'], ['x.a.b']],
    [['all', '!*.a.b'], ['*.x.a.b'], ['*.x.a.b']],
    [['all', '!a.b:80'], ['a.b'], ['a.b:80']],
  ] as const)('%j lets %j exceed it by %j', (ceiling, wanted, exceeds) => {
    expect(within(parsePolicy(ceiling), parsePolicy(wanted))).toEqual(
      exceeds.length === 0 ? { within: true } : { within: false, exceeds },
    );
  });

  test('and a wish must both allow a target; only the ceiling names it', () => {
    const rules = {
      ceiling: parsePolicy(['*.a.b', '!x.a.b', '10.0.0.5:5432']),
      wanted: parsePolicy(['y.a.b', 'x.a.b', '10.0.0.5:5432', 'c.d']),
    };
    const decided = (host: string, port = 443) => decideBoth(rules, { host, port, isAddress: false });
    expect(decided('y.a.b')).toEqual({ allowed: true, rule: 'y.a.b', named: false, exact: true });
    expect(decided('x.a.b')).toEqual({ allowed: false, why: 'denied' });
    expect(decided('c.d')).toEqual({ allowed: false, why: 'not-allowed' });
    expect(decided('10.0.0.5', 5432)).toMatchObject({ allowed: true, named: true });
  });

  test('is never exceeded by a connection of a wish that is within it', () => {
    const entry = fc
      .tuple(
        fc.constantFrom('', '', '!'),
        fc.constantFrom('', '*.'),
        fc.constantFrom('a.b', 'x.a.b', 'y.x.a.b', 'c.d'),
        fc.constantFrom('', ':80', ':22'),
      )
      .map((parts) => parts.join(''));
    const setting = fc.array(fc.oneof(entry, fc.constant('all')), { maxLength: 4 });
    fc.assert(
      fc.property(setting, setting, fc.constantFrom('a.b', 'x.a.b', 'z.y.x.a.b', 'c.d'), (most, asked, host) => {
        const [ceiling, wanted] = [parsePolicy(most), parsePolicy(asked)];
        for (const port of [22, 80, 443]) {
          const target = { host, port, isAddress: false };
          if (decideBoth({ ceiling, wanted }, target).allowed) expect(decide(ceiling, host, port).allowed).toBe(true);
          else if (within(ceiling, wanted).within && decide(wanted, host, port).allowed)
            expect(decide(ceiling, host, port)).toEqual({ allowed: false, why: 'denied' });
        }
      }),
      { numRuns: 1000 },
    );
  });
});
