import { expect, test } from 'vitest';
import { createSessionSpace } from './session-space.ts';

const folders = { bytes: 5000, occupiedBytes: 45_000 };
const one = { session: 'one', owner: 'ada' };

test('the folders of the layers that a session gets are limited, however often it gets the same', () => {
  const space = createSessionSpace({ session: 100_000, owner: 1_000_000 });
  space.add(one, folders);
  space.add(one, folders);
  expect(() => space.add(one, folders)).toThrow('more folders');
  space.add(one, { bytes: 1_000_000, occupiedBytes: 1_004_096 }); // a large file is a link
  space.add({ ...one, session: 'another' }, folders);
  space.forget(one);
  space.add(one, folders);
});

test('so are those of all sessions of an owner together, until one of them is closed', () => {
  const space = createSessionSpace({ session: 100_000, owner: 150_000 });
  for (const session of ['one', 'two', 'three']) space.add({ session, owner: 'ada' }, folders);
  expect(() => space.add({ session: 'four', owner: 'ada' }, folders)).toThrow('packages of your sessions');
  space.add({ session: 'five', owner: 'bob' }, folders);
  space.forget({ session: 'two', owner: 'ada' });
  space.forget({ session: 'two', owner: 'ada' });
  space.add({ session: 'four', owner: 'ada' }, folders);
  expect(() => space.add({ session: 'four', owner: 'ada' }, folders)).toThrow('packages of your sessions');
});
