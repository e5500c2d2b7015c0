import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openNamedFile } from './named-file.ts';
import { namedFilePath } from './named-path.ts';
import { holdPlace } from './named-place.ts';
import { runOptions } from './run/options.ts';

const REFUSED = /is a symbolic link, which is not followed/;

let home: string;
const at = (name: string) => join(home, name);

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'hotcell-place-')));
  for (const name of ['private', 'repository/project/inner', 'elsewhere']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('private/key'), 'key');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(home, { recursive: true, force: true });
});

describe('below a folder that the sandbox can write to, with the current folder elsewhere', () => {
  const writable = () => [at('repository')];
  beforeEach(() => {
    vi.spyOn(process, 'cwd').mockReturnValue(at('elsewhere'));
    symlinkSync(at('private'), at('repository/out'));
    symlinkSync(at('private/key'), at('repository/main.py'));
  });

  it('no link is followed to the program', async () => {
    const followed = await openNamedFile(at('repository/main.py'));
    expect(await followed.readFile('utf8')).toBe('key'); // the attack, where no folder is writable
    await followed.close();
    await expect(openNamedFile(at('repository/main.py'), { writable: writable() })).rejects.toThrow(REFUSED);
  });

  it('a path with `..` is opened as it was examined, not from the target of a link of the user', async () => {
    symlinkSync(at('repository/project'), at('elsewhere/mine'));
    const typed = `${at('elsewhere/mine')}/../main.py`;
    expect(readFileSync(typed, 'utf8')).toBe('key'); // the attack, as the system reads the path
    await expect(openNamedFile(typed, { writable: writable() })).rejects.toThrow(/ENOENT/);
    writeFileSync(at('elsewhere/main.py'), 'mine');
    vi.spyOn(process, 'cwd').mockReturnValue(at('private'));
    await using file = await openNamedFile(typed, { writable: writable() });
    expect(await file.readFile('utf8')).toBe('mine');
  });

  it.each(['ro', 'rw'])('no link is followed to the source of another mount (%s)', (mode) => {
    const other = `${at('repository/out')}:/out:${mode}`;
    expect(runOptions({ mount: [other] }).open.mounts).toMatchObject([{ source: at('private') }]);
    for (const mount of [
      [`${at('repository')}:/repo:rw`, other],
      [other, `${at('repository')}:/repo:rw`],
    ])
      expect(() => runOptions({ mount })).toThrow(REFUSED);
  });

  it.each([
    ['absolute', () => at('repository/out')],
    ['relative', () => '../repository/out'],
  ])('no link is followed that a link of the user leads to (%s)', (_, target) => {
    symlinkSync(target(), at('elsewhere/mine'));
    vi.spyOn(process, 'cwd').mockReturnValue(at('private'));
    using followed = holdPlace(at('elsewhere/mine'));
    expect(followed.path).toBe(at('private'));
    expect(() => holdPlace(at('elsewhere/mine'), { writable: writable() })).toThrow(REFUSED);
  });

  it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
    'no link is followed at a second path that the host shows a part of it at',
    async () => {
      mkdirSync(at('second'));
      symlinkSync(at('private/key'), at('repository/project/main.py'));
      execFileSync('mount', ['--bind', at('repository/project'), at('second')]);
      try {
        await expect(openNamedFile(at('second/main.py'), { writable: writable() })).rejects.toThrow(REFUSED);
      } finally {
        execFileSync('umount', [at('second')]);
      }
    },
  );

  it('a link of the user to a plain folder is followed', () => {
    symlinkSync(at('repository/project/../project'), at('elsewhere2'));
    using place = holdPlace(at('elsewhere2/inner/new'), { writable: writable() });
    expect(place.path).toBe(at('repository/project/inner/new'));
  });
});

describe('where the folders that sandboxes can write to are unknown, as in a session of a server', () => {
  const unknown = { writable: 'unknown' } as const;
  beforeEach(() => {
    vi.spyOn(process, 'cwd').mockReturnValue(at('elsewhere'));
    symlinkSync(at('private/key'), at('repository/main.py'));
    symlinkSync(at('private'), at('repository/out'));
  });

  it.each(['main.py', 'out/key'])('no link is followed to a file: %s', async (name) => {
    const followed = await openNamedFile(at(join('repository', name)));
    expect(await followed.readFile('utf8')).toBe('key'); // the attack, where no folder is writable
    await followed.close();
    for (const typed of [at(join('repository', name)), join('../repository', name)])
      await expect(openNamedFile(typed, unknown)).rejects.toThrow(REFUSED);
  });

  it('no link is followed to a folder', () => {
    expect(() => holdPlace(at('repository/out'), unknown)).toThrow(REFUSED);
    expect(() => holdPlace(at('repository/out/new'), unknown)).toThrow(REFUSED);
  });

  it.skipIf(!existsSync('/dev/shm'))('no link is followed in /dev/shm, where any user can create one', async () => {
    const shared = mkdtempSync('/dev/shm/hotcell-place-');
    try {
      symlinkSync(at('private/key'), join(shared, 'main.py'));
      await expect(openNamedFile(join(shared, 'main.py'), unknown)).rejects.toThrow(REFUSED);
    } finally {
      rmSync(shared, { recursive: true });
    }
  });

  it.runIf(process.platform === 'linux')('no link is followed behind a link of the kernel', async () => {
    for (const kernel of ['/proc/self/root', '/proc/thread-self/root', `/proc/${process.pid}/root`])
      await expect(openNamedFile(`${kernel}${at('repository/main.py')}`, unknown)).rejects.toThrow(REFUSED);
    await expect(openNamedFile(`/proc/self/cwd/..${at('repository/main.py')}`, unknown)).rejects.toThrow();
  });

  it('a path without links, and a descriptor, are read', async () => {
    await using file = await openNamedFile(at('private/key'), unknown);
    expect(await file.readFile('utf8')).toBe('key');
    await using again = await openNamedFile(`/dev/fd/${file.fd}`, unknown);
    expect((await again.stat()).ino).toBe((await file.stat()).ino);
    using place = holdPlace(at('repository/project/new'), unknown);
    expect(place.path).toBe(at('repository/project/new'));
    using top = holdPlace('/usr', unknown);
    expect(top.path).toBe('/usr');
  });

  it.runIf(lstatSync('/bin').isSymbolicLink())('links in the root of the file system are followed', async () => {
    await using file = await openNamedFile('/bin/true', unknown);
    expect((await file.stat()).isFile()).toBe(true);
  });
});

describe('a file below the current folder is read', () => {
  beforeEach(() => {
    vi.spyOn(process, 'cwd').mockReturnValue(at('repository'));
    writeFileSync(at('repository/main.py'), 'program');
  });
  const contentOf = async (typed: string) => {
    await using file = await openNamedFile(typed);
    return file.readFile('utf8');
  };

  it.each([
    ['absolute', () => at('repository/project/../main.py')],
    ['relative', () => '../repository/main.py'],
  ])('through a link of the user that lies elsewhere (%s)', async (_, target) => {
    symlinkSync(target(), at('elsewhere/mine.py'));
    expect(await contentOf(at('elsewhere/mine.py'))).toBe('program');
    expect(await contentOf('../elsewhere/mine.py')).toBe('program');
    expect(namedFilePath(at('elsewhere/mine.py'))).toBe(at('repository/main.py'));
  });

  it('but not on through a link there', async () => {
    symlinkSync(at('private/key'), at('repository/link.py'));
    symlinkSync(at('repository/link.py'), at('elsewhere/mine.py'));
    await expect(contentOf(at('elsewhere/mine.py'))).rejects.toThrow(REFUSED);
  });

  it.runIf(process.platform === 'linux')('by its descriptor, also after it was removed', async () => {
    const fd = openSync(at('repository/main.py'), 'r');
    try {
      for (const folder of ['/dev/fd', '/proc/self/fd']) expect(await contentOf(`${folder}/${fd}`)).toBe('program');
      rmSync(at('repository/main.py'));
      expect(await contentOf(`/dev/fd/${fd}`)).toBe('program');
    } finally {
      closeSync(fd);
    }
  });
});

it.runIf(process.platform === 'linux').each(['.', 'new', '../new'])(
  'the current folder stays the same one when a folder above it is replaced by a link: %s',
  (typed) => {
    mkdirSync(at('private/inner'));
    vi.spyOn(process, 'cwd').mockReturnValue(at('repository/project/inner'));
    holdPlace('.')[Symbol.dispose](); // as at the start of every command
    renameSync(at('repository/project'), at('repository/old'));
    symlinkSync(at('private'), at('repository/project'));
    using place = holdPlace(typed, { writable: [at('repository')] });
    expect(place.path).toBe(join(at('repository/old/inner'), typed));
  },
);
