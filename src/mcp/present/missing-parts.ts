import type { ExecutionResult } from '../../execution/result.ts';
import { quoted } from '../../lib/said-inside.ts';

const GUIDE = 'the user can add it as docs/guides/packages.md of Hotcell describes';

/** What a session, and the model that works in it, can do about a missing part. */
export interface Means {
  /** The session has a network, whose proxy a program may have ignored. */
  readonly hasNetwork: boolean;
  /** The tool set_network is offered. */
  readonly maySetNetwork: boolean;
  /** The session may install packages: the tool install_packages is offered, and its pip and npm ask the host. */
  readonly mayInstall: boolean;
}

/** Lines of installers and other programs that say that they could not reach a network. */
const NO_NETWORK = [
  /No matching distribution found for|Failed to establish a new connection/, // pip
  /npm (?:error|ERR!) (?:code |errno |network )?(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|network)/, // npm
  /dns error|failed to lookup address information|not found in the package registry/i, // uv
  /Temporary failure resolving|Unable to fetch some archives|Unable to locate package/, // apt-get
  /Could not resolve host|Temporary failure in name resolution|Network is unreachable/, // curl, git and others
];

const NOT_FOUND = /(?:^|: )([A-Za-z0-9][\w.+-]{0,50}): (?:command )?not found$/m;
/** The words of our own pip, uv and npm, which say what to do. */
const OUR_INSTALLER = /The resolver said "/;
/** apt-get of a user that is not root. */
const NO_ROOT = /dpkg frontend lock|Could not open lock file/;
/** Programs that would need a network even if they were there. */
const INSTALLERS = /^(?:npm|npx|pnpm|yarn|uv|uvx|poetry|conda|mamba|wget)$/;
const NO_MODULE = /No module named '?([A-Za-z_]\w{0,50})'?/;
const TAIL_CHARS = 8_000;

/**
 * Advice after a program that failed because sandboxes do not have a network, a program or a package. SECURITY: only a
 * name is taken from the output, and quoted.
 */
export function missingPartAdvice(
  { outcome, stdout, stderr }: Pick<ExecutionResult, 'outcome' | 'stdout' | 'stderr'>,
  means: Means,
): string | undefined {
  if (outcome.kind !== 'exited' || outcome.exitCode === 0) return undefined;
  const said = `${stdout.slice(-TAIL_CHARS)}\n${stderr.slice(-TAIL_CHARS)}`;
  if (OUR_INSTALLER.test(said)) return undefined;
  if (NO_ROOT.test(said)) return `The system of a sandbox cannot be changed. If a program is missing, ${GUIDE}.`;
  const program = NOT_FOUND.exec(said)?.[1];
  const isInstaller = INSTALLERS.test(program ?? '');
  if (NO_NETWORK.some((line) => line.test(said)) || (isInstaller && !means.hasNetwork)) return unreachedAdvice(means);
  if (program !== undefined) {
    return `The program ${quoted(program)} is not in this sandbox. Do it another way, for example in Python; or ${GUIDE}.`;
  }
  const module = NO_MODULE.exec(said)?.[1];
  if (module === undefined) return undefined;
  const how = means.mayInstall
    ? 'install_packages installs packages'
    : `\`pip list\` shows which packages are there, and ${GUIDE}`;
  return `The Python module ${quoted(module)} is not in this sandbox. If it is a file of yours, put it into the workspace first; ${how}.`;
}

function unreachedAdvice({ hasNetwork, maySetNetwork, mayInstall }: Means): string {
  if (hasNetwork) {
    return 'This session reaches hosts only through its proxy (HTTPS_PROXY; SOCKS5 on the same port, HOTCELL_PROXY), and resolves no names itself: tell the program to use the proxy.';
  }
  return [
    'This session has no network.',
    maySetNetwork
      ? 'set_network opens the hosts that you need.'
      : 'Work with the files of the workspace; load_file (if available) copies files of the user into it.',
    mayInstall
      ? 'Packages need no network: install_packages, or `pip install` and `npm install`.'
      : `Packages cannot be installed: use those that are there (\`pip list\`). If one is missing, ${GUIDE}.`,
  ].join(' ');
}
