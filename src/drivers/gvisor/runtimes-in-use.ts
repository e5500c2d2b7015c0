import { readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { findProgram } from '../../lib/find-program.ts';
import { homeFolder } from '../../lib/user-folders.ts';
import { runtimeName } from './daemon-config.ts';

/**
 * Programs that the engine runs containers with: those that its configuration names, and a runsc that it would find, or that would be registered with it. SECURITY: it
 * runs them as root. Code in a sandbox that could rewrite one would be root at the next container.
 */
export function runtimesInUse(configurations: readonly string[] = CONFIGURATIONS): string[] {
  if (process.platform !== 'linux') return [];
  const installed = findProgram(runtimeName);
  return [
    ...configurations.flatMap((path) => [path, ...runtimePaths(path)]),
    ...(installed === undefined ? [] : [installed]),
  ];
}

/** Of the system's engine, and of one that runs without root. */
const CONFIGURATIONS = ['/etc/docker/daemon.json', join(homeFolder(), '.config/docker/daemon.json')];

function runtimePaths(configuration: string): string[] {
  try {
    const { runtimes } = JSON.parse(readFileSync(configuration, 'utf8')) as { runtimes?: unknown };
    const entries = Object.values((runtimes ?? {}) as Record<string, { path?: unknown } | null>);
    return entries.flatMap((entry) => {
      const path = entry?.path;
      return typeof path === 'string' && isAbsolute(path) ? [path] : [];
    });
  } catch {
    return []; // none, or one that the engine cannot read either
  }
}
