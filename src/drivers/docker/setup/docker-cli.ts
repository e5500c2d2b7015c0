import { findProgram } from '../../../lib/find-program.ts';
import { type CommandOptions, type CommandResult, NOT_FOUND, runCommand } from '../../../lib/run-command.ts';
import { StepError } from '../../../lib/steps.ts';

/** Runs `docker <args>`. Only set-up uses the command line; sandboxes use the engine's API. */
export async function docker(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const program = findProgram('docker');
  return program === undefined ? NOT_FOUND : runCommand(program, args, options);
}

/** Like `docker`, but a failure ends the step. */
export async function dockerOrFail(what: string, args: readonly string[], options: CommandOptions = {}) {
  const result = await docker(args, options);
  if (result.exitCode !== 0) throw new StepError(`${what} failed:\n${result.tail}`);
  return result;
}

export interface Engine {
  version: string;
  /** The architecture in Docker's terms: `amd64`, `arm64`. */
  architecture: string;
}

/** Returns the engine, or fails with the command that starts it. */
export async function requireEngine(signal?: AbortSignal): Promise<Engine> {
  if (!findProgram('docker')) {
    throw new StepError('Docker is not installed.', { command: installCommand() });
  }
  const { exitCode, stdout, tail } = await docker(['version', '--format', '{{.Server.Version}} {{.Server.Arch}}'], {
    signal,
  });
  const [version, architecture] = stdout.trim().split(' ');
  if (exitCode === 0 && version && architecture) return { version, architecture };
  const said = tail.split('\n').at(-1) ?? '';
  if (/permission denied/i.test(tail)) {
    throw new StepError('Your user may not use the Docker engine. Give it access, then log in again.', {
      command: 'sudo usermod -aG docker $USER',
    });
  }
  throw new StepError(`The Docker engine does not answer: ${said}`, { command: startCommand() });
}

export async function hasImage(image: string, signal?: AbortSignal): Promise<boolean> {
  return (await docker(['image', 'inspect', image], { signal })).exitCode === 0;
}

function installCommand(): string {
  if (process.platform === 'darwin') return 'brew install --cask docker';
  if (process.platform === 'win32') return 'winget install Docker.DockerDesktop';
  return findProgram('apt-get') ? 'sudo apt-get install -y docker.io' : 'curl -fsSL https://get.docker.com | sudo sh';
}

function startCommand(): string {
  if (process.platform === 'darwin') return 'open -a Docker';
  if (process.platform === 'win32') return 'start "" "C:\\Program Files\\Docker\\Docker\\Docker Desktop.exe"';
  return findProgram('systemctl') ? 'sudo systemctl start docker' : 'sudo dockerd';
}
