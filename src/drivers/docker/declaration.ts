import type { DriverDeclaration } from '../../sandbox/traits.ts';

export const dockerDeclaration: DriverDeclaration = {
  traits: { images: true, mounts: true, persistence: true, sharesWithinOwner: false, passesDescriptors: true },
};
