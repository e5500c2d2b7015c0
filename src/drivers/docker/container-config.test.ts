import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../sandbox/spec.ts';
import { gvisorRuntime } from '../gvisor/index.ts';
import { type ContainerContext, type ContainerRuntime, containerConfig } from './container-config.ts';
import type { ImageDescription } from './engine-image.ts';

const spec: SandboxSpec = {
  id: 's-1',
  owner: 'ann',
  limits: { ...DEFAULT_LIMITS, processes: 64, openFiles: 512, cpus: 0.5, diskBytes: 8_388_608 },
  mounts: [],
  preloads: [],
  environment: {},
};

const described: ImageDescription = {
  ...{ name: 'an/image:1', id: 'sha256:1', volumes: [], path: '/app/bin:/bin' },
  ...{ variables: ['PATH', 'LD_PRELOAD', 'NVIDIA_VISIBLE_DEVICES'], labels: ['job', 'dev.hotcell.owner'] },
};

function config(change: Partial<SandboxSpec> = {}, runtime: ContainerRuntime = {}, volumes: string[] = []) {
  const context = { image: 'an/image:1', command: ['python3'], runtime, installationId: 'i', serverId: 'v' };
  const made = containerConfig(
    { ...spec, ...change },
    { ...context, ...(volumes.length === 0 ? {} : { described: { ...described, volumes } }) },
  );
  return { ...made, host: made.HostConfig ?? {} };
}

describe('a sealed container', () => {
  it('has no network, no capability, no way to new privileges and no writable root', () => {
    expect(config().host).toMatchObject({
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', expect.stringMatching(/^seccomp=\{"defaultAction":"SCMP_ACT_ERRNO"/)],
      ReadonlyRootfs: true,
      IpcMode: 'private',
      CgroupnsMode: 'private',
    });
    expect(config().host).not.toHaveProperty('Privileged');
    expect(config().host).not.toHaveProperty('CapAdd');
  });

  it('masks the paths that an engine masks by default, and more of /proc; a runtime with its own kernel needs no masks', () => {
    const masked = config().host.MaskedPaths ?? [];
    for (const name of ['asound', 'acpi', 'interrupts', 'kcore', 'keys', 'latency_stats', 'timer_list', 'sched_debug'])
      expect(masked).toContain(`/proc/${name}`);
    for (const path of ['/sys/firmware', '/sys/devices/virtual/powercap', '/proc/locks', '/proc/pressure'])
      expect(masked).toContain(path);
    expect(config().host).not.toHaveProperty('ReadonlyPaths');
    expect(config({}, gvisorRuntime).host).not.toHaveProperty('MaskedPaths');
  });

  it('has a core dump limit that also stops dumps that the host pipes to a program', () => {
    expect(config().host.Ulimits).toContainEqual({ Name: 'core', Soft: 1, Hard: 1 });
  });

  it('leaves nothing for the image to decide', () => {
    expect(config()).toMatchObject({
      Entrypoint: [],
      Cmd: ['python3'],
      User: '1000:1000',
      WorkingDir: '/',
      Healthcheck: { Test: ['NONE'] },
    });
  });

  it('takes only the search path from an image: no other variable, and no label', () => {
    const { Env, Labels } = config({}, {}, ['/v']);
    expect(Env).toEqual([
      'PATH=/app/bin:/bin',
      'HOME=/tmp',
      'LANG=C.UTF-8',
      'NVIDIA_VISIBLE_DEVICES=void',
      'LD_PRELOAD',
    ]);
    expect(Labels).toMatchObject({ job: '', 'dev.hotcell.owner': 'ann' });
  });

  it("does not see the host's name servers", () => {
    expect(config().host).toMatchObject({ Dns: ['127.0.0.1'], DnsSearch: ['.'] });
  });

  it('has its workspace at another path if the spec asks for it, and tells the guest', () => {
    const { Cmd, host } = config({ workspace: '/mnt/data', tmpBytes: 4096 });
    expect(Cmd).toEqual(['python3', '--workspace', '/mnt/data']);
    expect(host.Tmpfs?.['/mnt/data']).toContain('size=8388608');
    expect(host.Tmpfs?.['/tmp']).toContain('size=4096');
    expect(host.Tmpfs).not.toHaveProperty('/workspace');
  });

  it('does not log the bytes of the channel', () => {
    expect(config().host.LogConfig).toMatchObject({ Type: 'none' });
  });

  it('may use no swap beyond its memory', () => {
    expect(config().host.MemorySwap).toBe(config().host.Memory);
  });

  it('keeps its files in memory, limited in bytes and in number', () => {
    const { '/workspace': workspace, ...others } = config().host.Tmpfs ?? {};
    expect(workspace).toBe('rw,exec,nosuid,nodev,size=8388608,nr_inodes=4096,mode=0755,uid=1000,gid=1000');
    expect(Object.keys(others).sort()).toEqual(['/node_modules', '/opt/hotcell/layers', '/tmp', '/var/tmp']);
  });

  it('covers volumes that its image declares, but never the workspace with one', () => {
    const tmpfs = config({}, {}, ['/data', '/workspace']).host.Tmpfs ?? {};
    expect(tmpfs['/data']).toContain('size=');
    expect(tmpfs['/workspace']).toContain('size=8388608');
  });

  it('carries the labels by which a container that outlived its server is found', () => {
    expect(config().Labels).toEqual({
      'dev.hotcell.installation': 'i',
      'dev.hotcell.server': 'v',
      'dev.hotcell.owner': 'ann',
      'dev.hotcell.sandbox': 's-1',
      'dev.hotcell.persistent': 'false',
    });
  });

  it('limits processes by its cgroup alone, because containers share a uid, and leaves open files to the guest', () => {
    expect(config().host.PidsLimit).toBe(64);
    expect(config().host.Ulimits?.map((limit) => limit.Name)).toEqual(['fsize', 'core']);
  });
});

describe('layers', () => {
  const context = {
    image: 'i',
    command: [],
    runtime: {},
    installationId: 'i',
    serverId: 'v',
    layers: '/data/layers/s',
  };
  const binds = (more: Partial<ContainerContext> = {}) =>
    (containerConfig(spec, { ...context, ...more }).HostConfig?.Mounts ?? []).map(
      ({ Type, Source, Target, ReadOnly }) => ({ Type, Source, Target, ReadOnly }),
    );
  const bound = (Source: string, Target: string) => ({ Type: 'bind', Source, Target, ReadOnly: true });

  it('are bound read-only, with the packages for Node where Node looks for them', () => {
    const both = [
      bound('/data/layers/s', '/opt/hotcell/layers'),
      bound('/data/layers/s/node_modules', '/node_modules'),
    ];
    expect(binds()).toEqual(both);
    expect(binds({ runtime: gvisorRuntime })).toEqual(both);
    const tmpfs = containerConfig(spec, context).HostConfig?.Tmpfs ?? {};
    expect(Object.keys(tmpfs).filter((path) => /layers|node_modules/.test(path))).toEqual([]);
  });

  it('leave packages of the image at /node_modules visible, and take the place of a volume there', () => {
    expect(binds({ hasNodeModules: true })).toEqual([bound('/data/layers/s', '/opt/hotcell/layers')]);
    const volumes = ['/opt/hotcell/layers'];
    expect(
      containerConfig(spec, { ...context, described: { ...described, volumes } }).HostConfig?.Tmpfs,
    ).not.toHaveProperty('/opt/hotcell/layers');
  });

  it("have file systems in memory, which the sandbox's user can write to, if the engine cannot bind them", () => {
    expect(binds({ layers: undefined })).toEqual([]);
    const { Tmpfs } = containerConfig(spec, { ...context, layers: undefined }).HostConfig ?? {};
    for (const path of ['/opt/hotcell/layers', '/node_modules']) expect(Tmpfs?.[path]).toContain('mode=0755,uid=1000');
  });
});

describe('a folder of the host', () => {
  const mount = { source: '/srv/data', target: '/data', readOnly: true, identity: { device: '1', inode: '2' } };

  it('is bound without creating the source, and with private propagation', () => {
    expect(config({ mounts: [mount] }).host.Mounts).toEqual([
      {
        Type: 'bind',
        Source: '/srv/data',
        Target: '/data',
        ReadOnly: true,
        BindOptions: { Propagation: 'rprivate', NonRecursive: true },
      },
    ]);
  });

  it('includes file systems mounted below it on the host only if it is writable', () => {
    const [mounted] = config({ mounts: [{ ...mount, readOnly: false }] }).host.Mounts ?? [];
    expect(mounted?.BindOptions).toEqual({ Propagation: 'rprivate' });
  });

  it('takes the place of the workspace when it is mounted there', () => {
    const { host } = config({ mounts: [{ ...mount, target: '/workspace' }] });
    expect(host.Tmpfs).not.toHaveProperty('/workspace');
  });
});

describe('a runtime with its own kernel', () => {
  const mount = { source: '/srv/data', target: '/data', readOnly: true, identity: { device: '1', inode: '2' } };

  it('gets host folders by descriptor, as anonymous volumes that are removed with the container and never copied to', () => {
    const context = { image: 'i', command: [], runtime: gvisorRuntime, installationId: 'i', serverId: 'v' };
    const writable = { ...mount, readOnly: false };
    const made = containerConfig({ ...spec, mounts: [mount, writable] }, { ...context, devices: ['/dev-0', '/dev-1'] });
    const volume = (o: string, device: string) => ({
      Type: 'volume',
      Source: '',
      Target: '/data',
      VolumeOptions: {
        NoCopy: true,
        Labels: {},
        DriverConfig: { Name: 'local', Options: { type: 'none', o, device } },
      },
    });
    expect(made.HostConfig?.Mounts).toEqual([volume('bind,ro,private', '/dev-0'), volume('rbind,rprivate', '/dev-1')]);
  });

  it('is not required: with descriptors, the default runtime gets folders the same way', () => {
    const context = { image: 'i', command: [], runtime: {}, installationId: 'i', serverId: 'v', devices: ['/dev-0'] };
    const [made] = containerConfig({ ...spec, mounts: [mount] }, context).HostConfig?.Mounts ?? [];
    expect(made).toMatchObject({ Type: 'volume', VolumeOptions: { DriverConfig: { Options: { device: '/dev-0' } } } });
  });

  it('never gets a folder by path', () => {
    expect(() => config({ mounts: [mount] }, gvisorRuntime)).toThrow(/no descriptor/);
  });

  it('gets memory and threads for that kernel, and counts processes of the sandbox inside', () => {
    const { host } = config({}, gvisorRuntime);
    expect(host.Runtime).toBe('runsc');
    expect(host.Memory).toBeGreaterThan(spec.limits.memoryBytes);
    expect(host.PidsLimit).toBeGreaterThan(512);
    expect(host.Ulimits).toContainEqual({ Name: 'nproc', Soft: 64, Hard: 64 });
  });
});
