import { findProgram } from '../lib/find-program.ts';
import { runCommand } from '../lib/run-command.ts';
import { type Registry, registryAt } from './registry.ts';

/** Asks apt for the repositories that it is configured for; none where there is no apt. */
export async function aptSources(signal?: AbortSignal): Promise<Registry[]> {
  const apt = findProgram('apt-get');
  if (apt === undefined) return [];
  const { exitCode, stdout } = await runCommand(apt, ['indextargets', '--format', '$(REPO_URI)'], { signal });
  return exitCode === 0 ? parseAptSources(stdout) : [];
}

/** One address on each line, many times. `mirror+https://` is a list of mirrors: only the host of the list itself counts. */
export function parseAptSources(output: string): Registry[] {
  const addresses = new Set(output.split('\n').map((line) => line.trim().replace(/^mirror\+/, '')));
  return [...addresses].flatMap((address) => registryAt(address) ?? []);
}
