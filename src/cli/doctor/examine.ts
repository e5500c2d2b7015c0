import { release } from 'node:os';
import { loadConfig, resolveDataDir } from '../../config/load.ts';
import { findPythonEnvironment } from '../../drivers/process/python-environment.ts';
import { DRIVERS } from '../../drivers/registry.ts';
import { findProgram } from '../../lib/find-program.ts';
import { packageVersion } from '../../lib/package-version.ts';
import { runCommand } from '../../lib/run-command.ts';
import type { Hotcell } from '../../main.ts';
import { leastLevel, mostLevel, strongestFirst } from '../../sandbox/declaration.ts';
import type { Probe } from '../../sandbox/driver.ts';
import type { DriverName, PassedOver } from '../../sandbox/isolation.ts';
import { whyPassedOver } from '../../sessions/choose-isolation.ts';

/** The findings of `hotcell doctor`, as `--json` prints them. */
export interface Findings {
  readonly versions: Readonly<Record<string, string>>;
  readonly python: PythonFinding | undefined;
  /** Probes of the drivers, strongest first. */
  readonly probes: readonly Probe[];
  readonly auto: AutoFinding;
}

export interface PythonFinding {
  readonly kind: 'own' | 'system';
  readonly python: string;
  readonly version: string;
  readonly packages: Readonly<Record<string, string>>;
  readonly missing: readonly string[];
}

/** The choice of `isolation: auto`, and the drivers that it passes over. Without a driver it would refuse. */
export interface AutoFinding {
  readonly driver?: DriverName;
  readonly minIsolation: DriverName;
  readonly passedOver: readonly PassedOver[];
}

export async function examine(hotcell: Pick<Hotcell, 'probe'>): Promise<Findings> {
  const [versions, python, probed] = await Promise.all([findVersions(), findPython(), hotcell.probe()]);
  const probes = strongestFirst(DRIVERS).flatMap((name) => probed.filter(({ driver }) => driver === name));
  return { versions, python, probes, auto: whatAutoTakes(probes, loadConfig().minIsolation) };
}

/** Applies the rule of `chooseIsolation` to existing probes. */
export function whatAutoTakes(probes: readonly Probe[], minIsolation: DriverName): AutoFinding {
  const least = leastLevel(DRIVERS[minIsolation]);
  const [best] = probes
    .flatMap((probe) => (probe.available && probe.isolation.level >= least ? [probe.isolation] : []))
    .sort((a, b) => b.level - a.level);
  const passedOver = probes
    .filter(({ driver }) => mostLevel(DRIVERS[driver]) >= least && mostLevel(DRIVERS[driver]) > (best?.level ?? 0))
    .flatMap((probe) => whyPassedOver(probe, least) ?? []);
  return { ...(best === undefined ? {} : { driver: best.driver }), minIsolation, passedOver };
}

async function findPython(): Promise<PythonFinding | undefined> {
  const found = await findPythonEnvironment({ dataDir: resolveDataDir() }).catch(() => undefined);
  if (found === undefined) return undefined;
  const { kind, python, version, packages, missing } = found;
  const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { kind, python, version, packages: sorted, missing };
}

async function findVersions(): Promise<Record<string, string>> {
  const [bubblewrap, docker, runsc] = await Promise.all([
    versionOf('bwrap', ['--version']),
    versionOf('docker', ['version', '--format', '{{.Server.Version}}']),
    versionOf('runsc', ['--version']),
  ]);
  return {
    hotcell: packageVersion(),
    node: process.versions.node,
    [process.platform]: release(),
    ...(bubblewrap === undefined ? {} : { bubblewrap }),
    ...(docker === undefined ? {} : { docker }),
    ...(runsc === undefined ? {} : { runsc }),
  };
}

/**
 * The first part of a program's version output that looks like a version. With a timeout, because an engine may not
 * answer.
 */
async function versionOf(name: string, args: readonly string[]): Promise<string | undefined> {
  const program = findProgram(name);
  if (program === undefined) return undefined;
  try {
    const { exitCode, stdout } = await runCommand(program, args, { signal: AbortSignal.timeout(5_000) });
    return exitCode === 0 ? stdout.match(/\d[\w.+-]*/)?.[0] : undefined;
  } catch {
    return undefined;
  }
}
