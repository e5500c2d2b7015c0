import type { ExecutionResult } from '../../execution/result.ts';
import { quoted } from '../../lib/said-inside.ts';

const GUIDE = 'the user can add it as docs/guides/packages.md of Hotcell describes';

/** Lines of installers and other programs that say that they could not reach a network. */
const NO_NETWORK = [
  /No matching distribution found for|Failed to establish a new connection/, // pip
  /npm (?:error|ERR!) (?:code |errno |network )?(?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|network)/, // npm
  /dns error|failed to lookup address information|not found in the package registry/i, // uv
  /Temporary failure resolving|Unable to fetch some archives|Unable to locate package/, // apt-get
  /Could not resolve host|Temporary failure in name resolution|Network is unreachable/, // curl, git and others
];

const NOT_FOUND = /(?:^|: )([A-Za-z0-9][\w.+-]{0,50}): (?:command )?not found$/m;
/** Programs that would need a network even if they were there. */
const INSTALLERS = /^(?:npm|npx|pnpm|yarn|uv|uvx|poetry|conda|mamba|wget)$/;
const NO_MODULE = /No module named '?([A-Za-z_]\w{0,50})'?/;
const TAIL_CHARS = 8_000;

/**
 * Advice after a program that failed because sandboxes do not have a network, a program or a package. SECURITY: only a
 * name is taken from the output, and quoted.
 */
export function missingPartAdvice({ outcome, stdout, stderr }: Pick<ExecutionResult, 'outcome' | 'stdout' | 'stderr'>) {
  if (outcome.kind !== 'exited' || outcome.exitCode === 0) return undefined;
  const said = `${stdout.slice(-TAIL_CHARS)}\n${stderr.slice(-TAIL_CHARS)}`;
  const program = NOT_FOUND.exec(said)?.[1];
  if (NO_NETWORK.some((line) => line.test(said)) || INSTALLERS.test(program ?? '')) {
    return `The sandbox has no network, so nothing can be downloaded or installed. Use what is installed (\`pip list\`). If a package or program is missing, ${GUIDE}.`;
  }
  if (program !== undefined) {
    return `The program ${quoted(program)} is not in this sandbox. Do it another way, for example in Python; or ${GUIDE}.`;
  }
  const module = NO_MODULE.exec(said)?.[1];
  if (module !== undefined) {
    return `The Python module ${quoted(module)} is not in this sandbox (\`pip list\` says what is); ${GUIDE}.`;
  }
  return undefined;
}
