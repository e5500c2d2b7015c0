import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { findOnSearchPath, findProgram } from '../../lib/find-program.ts';
import { makeOwnFolder, requireTrusted } from '../../lib/own-folder.ts';
import { runCommand } from '../../lib/run-command.ts';
import { type Progress, StepError } from '../../lib/steps.ts';
import { recordBuiltRunsc } from './built-runsc.ts';

/** The tested version. gVisor's Go branch has no release tags, only pseudo-versions. */
const runscModule = 'gvisor.dev/gvisor/runsc@v0.0.0-20260905035102-160fafc42237';

/** Returns the runsc to register: our own, else a recent one on the search path, else one built from its Go module. */
export async function ensureRunsc(dataDir: string, progress: Progress, signal?: AbortSignal): Promise<string> {
  const own = join(dataDir, 'bin', 'runsc');
  // SECURITY: the engine runs it as root.
  requireTrusted(own);
  if (isExecutable(own)) return own;
  const installed = findProgram('runsc');
  // Tells the user why a runsc of the search path is not used.
  requireTrusted(installed ?? findOnSearchPath('runsc') ?? own);
  if (installed && (await isRecent(installed, signal))) return installed;
  const go = findProgram('go') ?? (isExecutable('/usr/local/go/bin/go') ? '/usr/local/go/bin/go' : undefined);
  if (!go) throw new StepError('gVisor is not installed.', { command: officialInstall() });
  makeOwnFolder(join(dataDir, 'bin'), 0o755, { rootsToo: true });
  progress('building from its Go module, which takes a few minutes');
  const built = await runCommand(go, ['install', runscModule], {
    signal,
    umask: '022',
    env: { CGO_ENABLED: '0', GOBIN: join(dataDir, 'bin'), GOFLAGS: '-buildvcs=false' },
    onLine: progress,
  });
  if (built.exitCode === 0) {
    recordBuiltRunsc(dataDir);
    return own;
  }
  throw new StepError(`gVisor does not build:\n${built.tail}`, { command: officialInstall() });
}

/** Debian 12 ships a runsc of 2022 with a slow default platform, whose network stack rejects `--network none`. */
async function isRecent(runsc: string, signal?: AbortSignal): Promise<boolean> {
  const { exitCode, stdout } = await runCommand(runsc, ['--version'], { signal });
  return exitCode === 0 && isRecentVersion(stdout);
}

export function isRecentVersion(versionOutput: string): boolean {
  const year = Number(/20[0-9]{2}(?=[0-9]{4})/.exec(versionOutput)?.[0]);
  // A build from the Go module carries no version.
  return Number.isNaN(year) || year >= 2024;
}

/** The commands of gVisor's manual installation. */
function officialInstall(): string {
  return [
    'URL=https://storage.googleapis.com/gvisor/releases/release/latest/$(uname -m)',
    'curl -fsSLO $URL/runsc -O $URL/runsc.sha512 && sha512sum -c runsc.sha512',
    'sudo install -m 755 runsc /usr/local/bin/runsc && hotcell setup gvisor',
  ].join('\n');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
