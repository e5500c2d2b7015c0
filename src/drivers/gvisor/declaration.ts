import type { DriverDeclaration } from '../../sandbox/declaration.ts';
import { dockerDeclaration } from '../docker/declaration.ts';

/** Containers as with docker, but each has its own kernel, through which descriptors cannot be passed. */
export const gvisorDeclaration: DriverDeclaration = {
  levels: [3],
  traits: { ...dockerDeclaration.traits, passesDescriptors: false },
};
