import { HotcellError, toHotcellError } from '../errors/hotcell-error.ts';
import type { Installation, SessionPackages } from '../sessions/installation.ts';
import type { Feed, PackagesInstalled } from '../telemetry/feed.ts';
import type { Owner } from './owner.ts';

export interface PackagesOf {
  readonly owner: Pick<Owner, 'id' | 'mayInstall'>;
  readonly facts: Omit<PackagesInstalled, 'event' | 'durationMs' | 'policy'>;
  readonly feed: Pick<Feed, 'emit'>;
}

/** The packages of a server's session: only for an owner who may install some, with an event for each installation and refusal. */
export function managePackages(packages: SessionPackages, { owner, facts, feed }: PackagesOf): SessionPackages {
  return {
    ...packages,
    install: async (names, options) => {
      try {
        requireInstallRight(owner);
        const done = await packages.install(names, options);
        feed.emit(packagesInstalled(facts, done));
        return done;
      } catch (thrown) {
        const { session } = facts;
        feed.emit({ event: 'refused', owner: owner.id, session, refusal: toHotcellError(thrown).code });
        throw thrown;
      }
    },
  };
}

/** The event of an installation, by the owner, or by a program of the session. */
export function packagesInstalled(
  facts: PackagesOf['facts'],
  { manager, installed, reused, durationMs }: Installation,
): PackagesInstalled {
  const packages = installed.map(({ name, version }) => `${name}==${version}`);
  return { ...facts, event: 'packages-installed', durationMs, policy: { manager, packages, reused } };
}

/** Throws `install_denied` for an owner who may not install packages. */
export function requireInstallRight({ mayInstall }: Pick<Owner, 'mayInstall'>): void {
  if (mayInstall !== false) return;
  throw new HotcellError('install_denied', 'your token does not allow the installation of packages', {
    remedy: 'Use the packages that are there (docs/packages.md), or ask the operator for a token made with --install.',
  });
}
