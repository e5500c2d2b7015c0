import { describe, expect, test } from 'vitest';
import { loadConfig, loadSettings } from '../load.ts';
import { codeSandboxSettings, memoryLimitBytes } from './code-sandbox.ts';

const dataDir = '/nowhere';
const loadCodeSandbox = (env: NodeJS.ProcessEnv) => loadSettings(codeSandboxSettings, { env, dataDir });
const load = (given: Parameters<typeof loadConfig>[0], env: NodeJS.ProcessEnv) => loadConfig(given, { env, dataDir });

const PROFILE = { HOTCELL_PROFILE: 'code-sandbox' };

describe('the settings of the profile code-sandbox', () => {
  test('are sixteen, with the defaults that its users know', () => {
    expect(loadCodeSandbox({})).toEqual({
      memoryLimit: '512m',
      cpuLimit: 1,
      execTimeoutS: 60,
      sessionTtlM: 30,
      maxSessions: 10,
      cleanupIntervalM: 5,
      maxUploadBytes: 52_428_800,
      maxArtifactReadBytes: 10_485_760,
      maxOutputBytes: 102_400,
      maxCodeBytes: 102_400,
      httpHost: '127.0.0.1',
      httpPort: 8080,
      logLevel: 'INFO',
      logFormat: 'console',
    });
    expect(loadCodeSandbox({ SANDBOX_IMAGE: 'me/mine:1', SANDBOX_LOG_FILE: 'a.log' })).toMatchObject({
      image: 'me/mine:1',
      logFile: 'a.log',
    });
  });

  test.each([
    ['SANDBOX_MEMORY_LIMIT', 'much'],
    ['SANDBOX_MEMORY_LIMIT', '32m'],
    ['SANDBOX_CPU_LIMIT', '0'],
    ['SANDBOX_EXEC_TIMEOUT_S', '-1'],
    ['SANDBOX_HTTP_PORT', '70000'],
    ['SANDBOX_LOG_LEVEL', 'loud'],
    ['SANDBOX_IMAGE', '../x y'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => loadCodeSandbox({ [name]: value })).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });

  test.each([
    ['512m', 536_870_912],
    ['2G', 2_147_483_648],
    ['1.5g', 1_610_612_736],
    ['65536k', 67_108_864],
    ['100', 100],
    ['100b', 100],
  ])('read %s as %i bytes', (memoryLimit, bytes) => {
    expect(memoryLimitBytes({ memoryLimit })).toBe(bytes);
  });

  test('replace defaults of the server, and an option of Hotcell overrides them', () => {
    const env = { ...PROFILE, SANDBOX_HTTP_PORT: '9000', SANDBOX_LOG_LEVEL: 'warning', SANDBOX_MAX_SESSIONS: '3' };
    expect(load({}, env)).toMatchObject({
      ...{ port: 9000, logLevel: 'warn', logFormat: 'console', maxSessions: 3, outputBytes: 102_400 },
      isolation: 'docker',
    });
    expect(load({ port: 1 }, { ...env, HOTCELL_MAX_SESSIONS: '5' })).toMatchObject({ port: 1, maxSessions: 5 });
  });

  test('may exceed the default limits for clients, because the operator sets them', () => {
    const { maxMemoryBytes, maxCpus } = load({}, { ...PROFILE, SANDBOX_MEMORY_LIMIT: '16g', SANDBOX_CPU_LIMIT: '12' });
    expect({ maxMemoryBytes, maxCpus }).toEqual({ maxMemoryBytes: 17_179_869_184, maxCpus: 12 });
    expect(load({}, PROFILE)).toMatchObject({
      maxMemoryBytes: load({}, {}).maxMemoryBytes,
      maxCpus: load({}, {}).maxCpus,
    });
  });

  test('have no effect without the profile', () => {
    expect(load({}, { SANDBOX_HTTP_PORT: '9000', SANDBOX_LOG_LEVEL: 'loud' })).toEqual(load({}, {}));
  });

  test('use docker by default; beside other profiles, only for sessions of this profile', () => {
    expect(load({}, { ...PROFILE, HOTCELL_ISOLATION: 'process' }).isolation).toBe('process');
    expect(load({ profile: ['hotcell', 'code-sandbox'] }, {}).isolation).toBe('auto');
  });
});
