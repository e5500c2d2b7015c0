/** Commands with which each distribution's package manager installs packages without asking. */
const managers = {
  'apt-get': {
    install: ['apt-get', 'install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120'],
    refresh: ['apt-get', 'update'],
    venv: ['python3', 'python3-venv'],
  },
  dnf: { install: ['dnf', 'install', '-y'], venv: ['python3'] },
  pacman: { install: ['pacman', '-Sy', '--noconfirm', '--needed'], venv: ['python'] },
  zypper: { install: ['zypper', '--non-interactive', 'install'], venv: ['python3'] },
  apk: { install: ['apk', 'add'], venv: ['python3', 'py3-pip'] },
} as const;

export type PackageManager = keyof typeof managers;

export const packageManagers = Object.keys(managers) as PackageManager[];

/** The command that installs the missing packages. bubblewrap has the same name in all of these distributions. */
export function installCommand(manager: PackageManager, missing: { bubblewrap: boolean; venv: boolean }): string[] {
  const { install, venv } = managers[manager];
  return [...install, ...(missing.bubblewrap ? ['bubblewrap'] : []), ...(missing.venv ? venv : [])];
}

/** Only apt fails if its lists were never fetched, as in a fresh container. */
export function refreshCommand(manager: PackageManager): string[] | undefined {
  const entry = managers[manager];
  return 'refresh' in entry ? [...entry.refresh] : undefined;
}
