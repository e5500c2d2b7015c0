import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { explainConfig, loadConfig, loadSettings } from './load.ts';
import { codeSandboxSettings } from './profiles/code-sandbox.ts';

let dataDir: string;
const write = (text: string, name = 'config.json') => {
  writeFileSync(join(dataDir, name), text, { mode: 0o600 });
  return join(dataDir, name);
};

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'hotcell-config-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe('a configuration file', () => {
  test('sets options with lower precedence than the environment and flags, and each value has its source', () => {
    const path = write('{ // ours\n "maxSessions": 5, "port": 1, "logLevel": "debug", }');
    const { config, origins } = explainConfig({ port: 3 }, { env: { HOTCELL_LOG_LEVEL: 'warn' }, dataDir });
    expect(config).toMatchObject({ maxSessions: 5, port: 3, logLevel: 'warn' });
    expect(origins).toMatchObject({
      maxSessions: { kind: 'file', path },
      port: { kind: 'given' },
      logLevel: { kind: 'environment', name: 'HOTCELL_LOG_LEVEL' },
      maxCpus: { kind: 'default' },
    });
  });

  test('is the one that HOTCELL_CONFIG names, instead of that in the data folder', () => {
    write('{ "maxSessions": 5 }');
    const other = write('{ "maxCpus": 2 }', 'other.json');
    const named = { env: { HOTCELL_CONFIG: other }, dataDir };
    expect(loadConfig({}, named)).toMatchObject({ maxSessions: 200, maxCpus: 2 });
    expect(() => loadConfig({}, { env: { HOTCELL_CONFIG: '/nowhere.json' }, dataDir })).toThrow(/cannot be read/);
  });

  test('contains settings of a profile, whose defaults have lower precedence than all options', () => {
    write('{ "profile": ["code-sandbox"], "maxCpus": 2, "profiles": { "code-sandbox": { "maxSessions": 4 } } }');
    const { config, origins } = explainConfig({}, { env: {}, dataDir });
    expect(config).toMatchObject({ maxSessions: 4, maxCpus: 2, isolation: 'docker' });
    expect(origins.maxSessions).toEqual({ kind: 'profile', name: 'code-sandbox' });
    const env = { SANDBOX_MAX_SESSIONS: '7' };
    expect(loadSettings(codeSandboxSettings, { env, dataDir }).maxSessions).toBe(7);
  });

  test.each([
    ['{ "maxSesions": 5 }', /there is no option "maxSesions"/, 'Did you mean maxSessions?'],
    ['{ "profiles": { "codesandbox": {} } }', /there is no option "codesandbox"/, 'Did you mean code-sandbox?'],
    [
      '{ "profiles": { "code-sandbox": { "image": "x y" } }, "profile": ["code-sandbox"] }',
      /profiles.code-sandbox.image/,
      '',
    ],
    ['{ "port": 1, "port": 2 }', /sets port twice/, 'Keep one of them.'],
    ['{ "port": "many" }', /config.json: port: many is not a number/, ''],
    ['{ "port": 1', /is not JSON: CloseBraceExpected at line 1, column 12/, ''],
    ['[]', /is not an object/, ''],
    [`{ "a": ${'['.repeat(100_000)} }`, /more than 64 objects and lists inside each other/, ''],
    [`{ ${Array.from({ length: 20_000 }, (_, name) => `"${name}": 0`)} }`, /more than 10000 members/, ''],
    ['', /is not JSON/, ''],
  ])('that says %.40s is refused by name', (text, message, remedy) => {
    write(text);
    expect(() => loadConfig({}, { env: {}, dataDir })).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringMatching(message),
        remedy: expect.stringContaining(remedy),
      }),
    );
  });

  test('may have any signs in its comments', () => {
    write(`{ ${'// see [1, "2\n'.repeat(20_000)} "port": 1 }`);
    expect(loadConfig({}, { env: {}, dataDir })).toMatchObject({ port: 1 });
  });

  test('that another user may write to is refused', () => {
    const path = write('{ "mountRoots": ["/"] }');
    chmodSync(path, 0o666);
    expect(() => loadConfig({}, { env: {}, dataDir })).toThrow(/can be written to by other users/);
  });

  test('with a secret that every user may read is refused, unless its folder is inaccessible', () => {
    const secret = `{ "linkSecret": "${'s'.repeat(40)}" }`;
    const path = write(secret);
    chmodSync(path, 0o644);
    expect(loadConfig({}, { env: {}, dataDir })).toMatchObject({ linkSecret: 's'.repeat(40) });
    chmodSync(dataDir, 0o755);
    expect(() => loadConfig({}, { env: {}, dataDir })).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/other users can read it/),
        remedy: `Run: chmod 600 ${path}`,
      }),
    );
    write('{ "port": 1 }');
    expect(loadConfig({}, { env: {}, dataDir })).toMatchObject({ port: 1 });
  });
});
