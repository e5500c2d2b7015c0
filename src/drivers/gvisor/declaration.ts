import type { DriverDeclaration } from '../../sandbox/declaration.ts';
import { dockerDeclaration } from '../docker/declaration.ts';

/** Containers of docker, but each has a kernel of its own, and descriptors do not leave that. */
export const gvisorDeclaration: DriverDeclaration = {
  levels: [3],
  traits: { ...dockerDeclaration.traits, passesDescriptors: false },
};
