import { describe, expect, it } from 'vitest';
import { cgroupPlaces } from './cgroup-place.ts';

const paths = (own: string, asRoot: boolean) => cgroupPlaces(own, asRoot).map(({ path }) => path);

describe('the cgroup in which a server creates its groups', () => {
  it('is for root the root of the tree, where no process must be moved, and else the group it was started in', () => {
    expect(cgroupPlaces('/system.slice/hotcell.service', true)).toEqual([
      { path: '/sys/fs/cgroup', own: false },
      { path: '/sys/fs/cgroup/system.slice/hotcell.service', own: true },
    ]);
  });

  it('is the only visible group if the server was started in that, as in a container', () => {
    expect(cgroupPlaces('/', true)).toEqual([{ path: '/sys/fs/cgroup/', own: true }]);
  });

  it('is for a user the group it was started in, and else the one above', () => {
    expect(cgroupPlaces('/user.slice/run.scope/main', false)).toEqual([
      { path: '/sys/fs/cgroup/user.slice/run.scope/main', own: true },
      { path: '/sys/fs/cgroup/user.slice/run.scope', own: false },
    ]);
  });

  it('is never the root of the tree for a user', () => {
    expect(paths('/run.scope', false)).toEqual(['/sys/fs/cgroup/run.scope']);
    expect(paths('/', false)).toEqual(['/sys/fs/cgroup/']);
  });

  it('is the same for a server that is started in the leaf of an earlier server', () => {
    expect(paths('/user.slice/run.scope/hotcell-server', false)).toEqual(paths('/user.slice/run.scope', false));
    expect(paths('/hotcell-server', true)).toEqual(paths('/', true));
  });
});
