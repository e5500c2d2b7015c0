import type { DriverDeclaration } from '../../sandbox/declaration.ts';

export const dockerDeclaration: DriverDeclaration = {
  levels: [2],
  traits: { images: true, mounts: true, persistence: true, sharesWithinOwner: false, passesDescriptors: true },
};
