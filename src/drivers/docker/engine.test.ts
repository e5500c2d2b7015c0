import { describe, expect, it } from 'vitest';
import { apiVersion, createEngineConnector } from './engine.ts';
import { engineAddress } from './engine-address.ts';

describe('the API version', () => {
  it.each([
    ['1.41', undefined, '1.41'],
    ['1.47', '1.24', '1.47'],
    ['1.52', '1.44', '1.47'],
    ['1.60', '1.48', '1.48'],
    ['1.9', '1.9', '1.9'],
  ])('with an engine of %s (at least %s) is %s', (newest, oldest, expected) => {
    expect(apiVersion(newest, oldest)).toBe(expected);
  });
});

describe('the engine', () => {
  it('is looked for where DOCKER_HOST says', () => {
    expect(engineAddress({ DOCKER_HOST: 'unix:///tmp/a.sock' })).toEqual({
      shown: '/tmp/a.sock',
      socketPath: '/tmp/a.sock',
    });
    expect(engineAddress({ DOCKER_HOST: 'tcp://10.0.0.1:2376' })).toEqual({ shown: 'tcp://10.0.0.1:2376' });
  });

  it('is otherwise the first socket that exists', () => {
    const rootless = '/run/user/1/docker.sock';
    const env = { XDG_RUNTIME_DIR: '/run/user/1' };
    expect(engineAddress(env, (path) => path === rootless).socketPath).toBe(rootless);
    expect(engineAddress(env, () => true).socketPath).toBe('/var/run/docker.sock');
    expect(engineAddress(env, () => false).socketPath).toBe('/var/run/docker.sock');
  });

  it('of another machine is refused if its certificates would come from the current folder', async () => {
    const env = { DOCKER_HOST: 'tcp://10.0.0.1:2376', DOCKER_CERT_PATH: 'certificates' };
    await expect(createEngineConnector('docker', engineAddress(env)).connect()).rejects.toMatchObject({
      code: 'driver_unavailable',
      message: 'docker: DOCKER_CERT_PATH is certificates, which is relative to the current folder',
    });
    expect(engineAddress({ ...env, DOCKER_CERT_PATH: '/certificates' })).toEqual({ shown: env.DOCKER_HOST });
    expect(engineAddress({ ...env, DOCKER_HOST: 'unix:///a.sock' })).toEqual({
      shown: '/a.sock',
      socketPath: '/a.sock',
    });
  });

  it('that does not answer is named in the error, with a remedy', async () => {
    const engine = createEngineConnector('docker', { shown: '/no/docker.sock', socketPath: '/no/docker.sock' });
    await expect(engine.connect()).rejects.toMatchObject({
      code: 'driver_unavailable',
      message: 'docker: cannot reach the engine at /no/docker.sock',
      remedy: expect.stringContaining('Start Docker'),
    });
  });
});
