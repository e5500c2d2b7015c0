import type { DriverDeclaration } from '../../sandbox/traits.ts';
import { dockerDeclaration } from '../docker/declaration.ts';

/** Containers of docker, but each has a kernel of its own, and descriptors do not leave that. */
export const gvisorDeclaration: DriverDeclaration = {
  traits: { ...dockerDeclaration.traits, passesDescriptors: false },
};
