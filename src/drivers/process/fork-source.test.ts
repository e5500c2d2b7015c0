import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createForkSource } from './fork-source.ts';
import type { Zygote } from './zygote.ts';

describe('a zygote that ended, and its folder with it', () => {
  const gone: Zygote = {
    pid: 1,
    layersFolder: '/gone',
    warm: new Promise(() => {}),
    ended: Promise.resolve(''),
    fork: async () => {
      throw new Error('the zygote has ended');
    },
    close: async () => {},
  };

  it('rejects the one who asks for a fork, leaves no group, and rejects no other promise', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    let groups = 0;
    const source = createForkSource(
      gone,
      {
        makeCgroup: () => {
          groups += 1;
          const remove = async () => {
            groups -= 1;
            throw new Error('busy');
          };
          return { remove } as never;
        },
        layers: {
          make: () => {
            throw new Error('ENOENT');
          },
          remove: async () => {},
        },
      },
      '',
    );
    await expect(source.take()).rejects.toThrow('ENOENT');
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(groups).toBe(0);
    expect(unhandled).toEqual([]);
  });
});
