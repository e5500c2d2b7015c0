import { describe, expect, it } from 'vitest';
import { engineError } from './engine-errors.ts';

const ID = '0123456789abcdef'.repeat(4);
const shown = (message: string) =>
  engineError('docker', 'the socket', 'start a container', { statusCode: 500, json: { message } }).message;

describe('an error message of the engine', () => {
  it.each([
    `/var/lib/docker/overlay2/${ID}/merged/data`,
    `/srv/engine/volumes/${ID}/_data`,
    '/mnt/large/docker/overlay2/l/ABC',
    '/run/user/1000/docker/containerd/daemon',
    `/run/containerd/io.containerd.runtime.v2.task/moby/${ID}/log.json`,
  ])('do not show where its files lie: %s', (path) => {
    for (const message of [`mkdir ${path}: read-only file system`, `error mounting "${path}" to rootfs at "/data"`]) {
      expect(shown(message)).toContain(message.replace(path, '(a path of the engine)'));
    }
  });

  it.each(['bind source path does not exist: /home/ann/data', 'exec: "/usr/bin/python3": stat: no such file'])(
    'are otherwise what it said: %s',
    (message) => {
      expect(shown(message)).toContain(message);
    },
  );
});

it('more CPUs than there are is an error of the caller, who learns how many there are', () => {
  const message = 'Range of CPUs is from 0.01 to 2.00, as there are only 2 CPUs available';
  expect(
    engineError('gvisor', 'the socket', 'start a container', { statusCode: 400, json: { message } }),
  ).toMatchObject({
    code: 'invalid_argument',
    message: 'cpus: more than this machine has, which is 2',
    remedy: 'Use at most 2.',
  });
});
