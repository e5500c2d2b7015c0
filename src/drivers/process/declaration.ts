import type { DriverDeclaration } from '../../sandbox/declaration.ts';

/** Jails of one owner are forks of one zygote, run the host's programs, and end with their server. */
export const processDeclaration: DriverDeclaration = {
  levels: [1],
  traits: { images: false, mounts: true, persistence: false, sharesWithinOwner: true, passesDescriptors: true },
};
