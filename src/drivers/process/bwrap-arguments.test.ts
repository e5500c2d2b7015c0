import { describe, expect, test } from 'vitest';
import { GUEST_FOLDER, type JailLayout, sharedJailArguments, singleJailArguments } from './bwrap-arguments.ts';

const LAYOUT: JailLayout = {
  marker: 'i-1/v-1',
  pythonFolders: ['/var/lib/hotcell/python/1', '/opt/python'],
  python: '/var/lib/hotcell/python/1/bin/python3',
  guestFolder: '/var/lib/hotcell/guest/1',
  node: [{ source: '/home/me/.nvm/node', target: '/opt/hotcell/node/bin/node', readOnly: true }],
  etcFiles: { passwd: '/var/lib/hotcell/etc/1/passwd' },
  coveredProc: { files: ['/proc/locks'], folders: ['/proc/pressure'] },
  covers: { file: '/var/lib/hotcell/covers/1/file', folder: '/var/lib/hotcell/covers/1/folder' },
  hostEtc: ['ssl/certs'],
  mounts: [
    { source: '/srv/data', target: '/data', readOnly: true, identity: { device: '1', inode: '2' } },
    { source: '/srv/out', target: '/workspace/out', readOnly: false, identity: { device: '1', inode: '3' } },
  ],
  workspace: '/workspace',
  usrMerged: { bin: true, lib64: false },
};
const SIZES = { diskBytes: 3, tmpBytes: 2, shmBytes: 1, layersFolder: '/var/lib/hotcell/layers/v/s' };
const SHARED = { controlFolder: '/control', layersFolder: '/var/lib/hotcell/layers/v/s', switchesUids: false };
const shapes: [string, string[]][] = [
  ['shared', sharedJailArguments(LAYOUT, { ...SHARED, switchesUids: true })],
  ['single', singleJailArguments(LAYOUT, SIZES)],
];

describe.each(shapes)('the %s jail', (_shape, args) => {
  test('unshares every namespace, dies with its parent, and has no controlling terminal', () => {
    for (const flag of ['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--as-pid-1']) {
      expect(optionsOf(args)).toContain(flag);
    }
    expect(args.some((arg) => arg.startsWith('--share'))).toBe(false);
  });

  test('is an unprivileged user of its own', () => {
    expect(valuesOf(args, '--uid')).toEqual([['1000']]);
    expect(valuesOf(args, '--gid')).toEqual([['1000']]);
  });

  test('shows no host folder writable except writable mounts', () => {
    const writable = valuesOf(args, '--bind', 2).map(([source]) => source);
    expect(writable.filter((source) => source !== SHARED.controlFolder)).toEqual(['/srv/out']);
    expect(optionsOf(args).filter((arg) => arg.startsWith('--dev-bind') || arg.startsWith('--overlay'))).toEqual([]);
  });

  test("shows named parts of the host's file system, and never all of it or its /etc", () => {
    const shown = [...valuesOf(args, '--ro-bind', 2), ...valuesOf(args, '--ro-bind-try', 2)]
      .filter(([, target]) => !target?.startsWith('/proc/'))
      .map(([source]) => source);
    expect(shown.sort()).toEqual(
      [
        ...['/usr', '/lib64', '/etc/ssl/certs', '/srv/data', '/home/me/.nvm/node', '/var/lib/hotcell/layers/v/s'],
        ...['/var/lib/hotcell/etc/1/passwd', '/var/lib/hotcell/guest/1', '/var/lib/hotcell/python/1', '/opt/python'],
      ].sort(),
    );
    expect(valuesOf(args, '--symlink', 2)).toEqual([
      ['usr/bin', '/bin'],
      ['/opt/hotcell/layers/node_modules', '/node_modules'],
    ]);
  });

  test('makes the parent folders of all binds searchable, because a session has another uid than the jail', () => {
    const made = valuesOf(args, '--dir').flat();
    for (const folder of ['/etc', '/etc/ssl', '/opt', '/opt/hotcell', '/var/lib', '/var/lib/hotcell/python']) {
      expect(made).toContain(folder);
    }
    expect(made.filter((folder) => folder.startsWith('/usr'))).toEqual([]);
  });

  test('makes its root read-only after everything is created in it', () => {
    const options = optionsOf(args);
    const closed = args.lastIndexOf('--remount-ro');
    expect(args.slice(closed, closed + 2)).toEqual(['--remount-ro', '/']);
    for (const making of ['--bind', '--ro-bind', '--dir', '--tmpfs', '--symlink']) {
      expect(args.lastIndexOf(making)).toBeLessThan(closed);
    }
    expect(options).toContain('--remount-ro');
  });

  test('starts our guest in isolated mode, so that the environment cannot make Python load other code', () => {
    const entry = args.slice(args.indexOf('--') + 1);
    expect(entry.slice(0, 3)).toEqual([LAYOUT.python, '-I', '-c']);
    expect(entry[3]).toContain(GUEST_FOLDER);
  });
});

test('the shared jail keeps mounts under numbers, without the targets of a session', () => {
  const args = sharedJailArguments(LAYOUT, SHARED);
  expect(valuesOf(args, '--ro-bind', 2)).toContainEqual(['/srv/data', '/mnt/hotcell/0']);
  expect(valuesOf(args, '--bind', 2)).toContainEqual(['/srv/out', '/mnt/hotcell/1']);
  const elsewhere = LAYOUT.mounts.map((mount, index) => ({ ...mount, target: `/elsewhere/${index}` }));
  expect(sharedJailArguments({ ...LAYOUT, mounts: elsewhere }, SHARED)).toEqual(args);
  expect(args).not.toContain('--seccomp');
});

test('layers are shown read-only: in the shared jail those of all sessions, where each session covers them', () => {
  const shared = valuesOf(sharedJailArguments(LAYOUT, SHARED), '--ro-bind', 2);
  expect(shared).toContainEqual([SHARED.layersFolder, '/mnt/hotcell/layers']);
  const single = valuesOf(singleJailArguments(LAYOUT, SIZES), '--ro-bind', 2);
  expect(single).toContainEqual([SIZES.layersFolder, '/opt/hotcell/layers']);
});

test('the single jail creates the file systems of a session with their sizes, and drops all capabilities', () => {
  const args = singleJailArguments(LAYOUT, SIZES);
  const sizes = args.flatMap((arg, index) =>
    arg === '--size' ? [`${args[index + 1]} ${args[index + 2]} ${args[index + 3]}`] : [],
  );
  expect(sizes).toEqual(['2 --tmpfs /tmp', '2 --tmpfs /var/tmp', '1 --tmpfs /dev/shm', '3 --tmpfs /workspace']);
  expect(valuesOf(args, '--cap-drop')).toEqual([['ALL']]);
});

test('the single jail masks parts of /proc; in the shared jail each session does that, which needs an unmasked /proc', () => {
  const covered = (args: string[]) =>
    valuesOf(args, '--ro-bind', 2).filter(([, target]) => target?.startsWith('/proc/'));
  expect(covered(singleJailArguments(LAYOUT, SIZES))).toEqual([
    ['/var/lib/hotcell/covers/1/file', '/proc/locks'],
    ['/var/lib/hotcell/covers/1/folder', '/proc/pressure'],
  ]);
  expect(covered(sharedJailArguments(LAYOUT, SHARED))).toEqual([]);
});

test('the single jail mounts outer folders before inner ones, in whatever order they are given', () => {
  const identity = { device: '1', inode: '2' };
  const mounts = ['/data/a/b', '/data'].map((target) => ({ source: '/srv', target, readOnly: true, identity }));
  const args = singleJailArguments({ ...LAYOUT, mounts }, SIZES);
  const targets = valuesOf(args, '--ro-bind', 2).flatMap(([source, target]) => (source === '/srv' ? [target] : []));
  expect(targets).toEqual(['/data', '/data/a/b']);
});

test('a host folder mounted as the workspace replaces the one in memory', () => {
  const mounts = [
    { source: '/srv/work', target: '/workspace', readOnly: false, identity: { device: '1', inode: '4' } },
  ];
  const args = singleJailArguments({ ...LAYOUT, mounts }, SIZES);
  expect(valuesOf(args, '--bind', 2)).toEqual([['/srv/work', '/workspace']]);
  expect(args.join(' ')).not.toContain('--tmpfs /workspace');
});

function optionsOf(args: string[]): string[] {
  return args.slice(0, args.indexOf('--')).filter((arg) => arg.startsWith('--'));
}

function valuesOf(args: string[], option: string, count = 1): string[][] {
  return args.flatMap((arg, index) => (arg === option ? [args.slice(index + 1, index + 1 + count)] : []));
}
