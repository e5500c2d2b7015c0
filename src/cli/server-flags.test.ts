import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { flagName, optionFlags } from '../config/flags.ts';
import { loadConfig } from '../config/load.ts';
import { configSchema } from '../config/schema.ts';
import { addServerFlags, argumentsOf, optionsFromFlags, type ServerFlags } from './server-flags.ts';

function parsed(kind: 'serve' | 'mcp', ...args: string[]): ServerFlags {
  return addServerFlags(new Command(), kind).parse(args, { from: 'user' }).opts();
}

describe('the flags of a server', () => {
  it('are all options of the schema, but for secrets and objects, under names of their own', () => {
    const flags = optionFlags('serve');
    const without = Object.keys(configSchema.shape).filter((name) => flags.every(({ option }) => option !== name));
    expect(without).toEqual(['recipes', 'forwards', 'credentials', 'linkSecret']);
    expect(new Set(flags.map(({ name }) => name)).size).toBe(flags.length);
    expect(optionFlags('mcp').map(({ name }) => name)).not.toContain('--port');
  });

  it('have a help that says what their value is', () => {
    const help = addServerFlags(new Command(), 'serve').helpInformation();
    expect(help).not.toContain('[object');
    expect(help).toContain('--network <rule>');
  });

  it.each([
    ['mountRoots', '--mount-root'],
    ['timeoutMs', '--timeout'],
    ['memoryBytes', '--memory'],
    ['logBytes', '--log-size'],
    ['maxSessions', '--max-sessions'],
    ['allowedHosts', '--allowed-host'],
    ['packageBytesPerOwner', '--package-size-per-owner'],
  ] as const)('name %s as people type it: %s', (option, name) => expect(flagName(option)).toBe(name));

  it('open the network of sessions with their ceiling, unless they say otherwise', () => {
    const given = (...args: string[]) => optionsFromFlags('mcp', parsed('mcp', ...args));
    expect(given('--network', 'a.example')).toEqual({ network: ['a.example'], sessionNetwork: ['a.example'] });
    expect(given('--network', 'all', '--session-network', 'none')).toEqual({
      network: ['all'],
      sessionNetwork: ['none'],
    });
    expect(() => given('--network', 'a b')).toThrow(/^--network: network rule "a\?b"/);
  });

  it('set the options, with units, and lists by repetition', () => {
    const flags = parsed(
      ...(['serve', '--memory', '4g', '--session-idle', '2h', '--port', '0', '--log-level', 'debug'] as const),
      ...['--mount-root', '/srv/a', '--mount-root', '/srv/b', '--profile', 'hotcell,code-sandbox', '--audit-size', '0'],
    );
    expect(optionsFromFlags('serve', flags)).toEqual({
      memoryBytes: 4 * 1024 ** 3,
      sessionIdleMs: 7_200_000,
      port: 0,
      logLevel: 'debug',
      mountRoots: ['/srv/a', '/srv/b'],
      profile: ['hotcell', 'code-sandbox'],
      auditBytes: 0,
    });
    expect(optionsFromFlags('serve', parsed('serve'))).toEqual({});
  });

  it('win over the environment', () => {
    const given = optionsFromFlags('mcp', parsed('mcp', '--memory', '4g'));
    const env = { HOTCELL_MEMORY_BYTES: '100000000', HOTCELL_CPUS: '2' };
    expect(loadConfig(given, { env, dataDir: '/nowhere' })).toMatchObject({ memoryBytes: 4 * 1024 ** 3, cpus: 2 });
  });

  it('can be given to another process as they were meant', () => {
    const flags = parsed('mcp', '--memory', '4g', '--load-root', 'data', '--log-file', 'log');
    expect(argumentsOf('mcp', flags)).toEqual([
      ...['--memory', '4g', '--load-root', `${process.cwd()}/data`, '--log-file', `${process.cwd()}/log`],
    ]);
  });

  it.each([
    [['--memory', 'lots'], '--memory: lots is not a size'],
    [['--port', '99999'], /^--port: /],
    [['--port', 'http'], '--port: http is not a number'],
    [['--isolation', 'magic'], /^--isolation: magic is not one of auto, /],
    [['--preload', 'not a module'], /^--preload: not the name of a module/],
    [['--timeout', '-1'], '--timeout: -1 is not a duration'],
  ])('are refused by their own name: %j', (args, message) => {
    expect(() => optionsFromFlags('serve', parsed('serve', ...args))).toThrow(message);
  });
});
