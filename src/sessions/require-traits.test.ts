import { expect, test } from 'vitest';
import { DRIVERS } from '../drivers/registry.ts';
import { requireTraits } from './require-traits.ts';

const passedOver = [{ driver: 'docker', reason: 'no engine answers' }] as const;
const process = { driver: { name: 'process', traits: DRIVERS.process.traits }, passedOver } as const;

test('a driver without a needed trait is refused, with the drivers that have it and why they were passed over', () => {
  expect(() => requireTraits(['mounts', 'images'], process, DRIVERS)).toThrow(
    expect.objectContaining({
      code: 'invalid_argument',
      message: 'image: the isolation process has no images',
      remedy: 'Open it with isolation docker or gvisor, or without image. docker: no engine answers.',
    }),
  );
  expect(() => requireTraits(['persistence'], process, DRIVERS)).toThrow(
    expect.objectContaining({ code: 'not_persistent', message: 'process: its sandboxes end with the server' }),
  );
});

test('names in messages come from the declarations', () => {
  const only = { ...DRIVERS, gvisor: DRIVERS.process };
  expect(() => requireTraits(['images'], process, only)).toThrow(
    expect.objectContaining({ remedy: expect.stringContaining('isolation docker, or without') }),
  );
});

test('a driver with all needed traits is accepted', () => {
  expect(() => requireTraits(['mounts'], process, DRIVERS)).not.toThrow();
  const gvisor = { driver: { name: 'gvisor', traits: DRIVERS.gvisor.traits }, passedOver: [] } as const;
  expect(() => requireTraits(['images', 'mounts', 'persistence'], gvisor, DRIVERS)).not.toThrow();
});
