import type { DriverDeclaration } from '../../sandbox/traits.ts';

/** Jails of one owner are forks of one zygote, run the host's own programs, and end with their server. */
export const processDeclaration: DriverDeclaration = {
  traits: { images: false, mounts: true, persistence: false, sharesWithinOwner: true, passesDescriptors: true },
};
