import { HotcellError } from '../../errors/hotcell-error.ts';
import { MANAGERS, type Manager } from '../../sessions/installation.ts';
import { parseNpmPackage } from './npm-package.ts';
import { parsePythonRequirement } from './python-requirement.ts';
import type { WantedPackage } from './wanted-package.ts';

/** A request to install packages, as a caller makes it. */
export interface InstallRequest {
  /** Packages, each in the words of its manager: `httpx`, `rich>=13`, `left-pad@^1`; or a wheel or folder of the workspace, as `./dist/mine.whl`. */
  readonly packages: readonly string[];
  /** `pip` by default. */
  readonly manager?: Manager;
  /** Whether to look for newer versions, instead of those that the same request got within a day. */
  readonly upgrade?: boolean;
}

/** A request that was checked. */
export interface CheckedRequest {
  readonly manager: Manager;
  readonly wanted: readonly WantedPackage[];
  readonly upgrade: boolean;
}

const MOST_PACKAGES = 200;

/**
 * Checks a request. Throws `invalid_argument`, with the package that is wrong and what to write instead.
 *
 * SECURITY: the texts come from models, and end up in files and arguments of installers. Only names with versions pass, in a grammar of our own: no option, address,
 * repository or path of the host, however the installer would read it.
 */
export function checkRequest({ packages, manager = 'pip', upgrade = false }: InstallRequest): CheckedRequest {
  if (!MANAGERS.includes(manager)) throw refused(`there is no package manager ${JSON.stringify(manager)} here`);
  if (packages.length === 0) throw refused('no package is named');
  if (packages.length > MOST_PACKAGES) throw refused(`more than ${MOST_PACKAGES} packages`);
  const parse = manager === 'pip' ? parsePythonRequirement : parseNpmPackage;
  const wanted = new Map(packages.map((text) => parse(text)).map((one) => [one.text, one]));
  return { manager, wanted: [...wanted.values()], upgrade };
}

function refused(problem: string): HotcellError {
  return new HotcellError('invalid_argument', `packages: ${problem}`, {
    remedy: 'Name packages of the registry, such as httpx or rich>=13.',
  });
}
