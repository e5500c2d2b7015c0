import { DRIVERS } from '../../drivers/registry.ts';
import { continued } from '../../errors/present.ts';
import { isWeakest } from '../../sandbox/declaration.ts';
import type { Probe } from '../../sandbox/driver.ts';
import type { LimitEnforcement } from '../../sandbox/isolation.ts';
import type { Paint } from '../print.ts';
import type { AutoFinding, Findings, PythonFinding } from './examine.ts';

/** The findings as text: one block per driver, then Python, then the conclusion. */
export function findingsText(findings: Findings, paint: Paint): string {
  const versions = Object.entries(findings.versions).map(([name, version]) => `${name} ${version}`);
  return [
    paint('dim', versions.join(' · ')),
    '',
    ...findings.probes.flatMap((probe) => [...probeLines(probe, paint), '']),
    ...pythonLines(findings.python, paint),
    '',
    ...autoLines(findings.auto, paint),
  ].join('\n');
}

function probeLines(probe: Probe, paint: Paint): string[] {
  const title = `${paint('bold', probe.driver)} (level ${levelText(probe)})`;
  if (!probe.available) {
    return [
      `${paint('red', '✗')} ${title}: ${continued(probe.reason)}`,
      `  ${paint('yellow', '→')} ${continued(probe.remedy)}`,
    ];
  }
  return [
    `${paint('green', '✓')} ${title}: works`,
    ...limitLines(probe.isolation.limits, paint),
    ...probe.notes.map((note) => `  ${paint('yellow', '→')} ${continued(note)}`),
  ];
}

/** The level that the probe found; for a driver that does not work here, its possible levels. */
function levelText(probe: Probe): string {
  return probe.available ? `${probe.isolation.level}` : DRIVERS[probe.driver].levels.join(' or ');
}

/** One line per strength, so that limits that are not hard stand out. */
function limitLines(limits: LimitEnforcement, paint: Paint): string[] {
  const named = Object.entries(limits);
  return (['hard', 'soft', 'none'] as const).flatMap((strength) => {
    const held = named.filter(([, limit]) => limit.strength === strength);
    if (held.length === 0) return [];
    const title = { hard: 'hard limits', soft: 'soft limits', none: 'not limited' }[strength];
    const colour = strength === 'hard' ? 'dim' : 'yellow';
    return [
      `  ${paint(colour, `${title}:`)}`,
      ...held.map(([name, { by }]) => paint('dim', `    ${name.padEnd(10)} ${by}`)),
    ];
  });
}

function pythonLines(python: PythonFinding | undefined, paint: Paint): string[] {
  const title = paint('bold', 'Python');
  const remedy = `  ${paint('yellow', '→')} Run: hotcell setup process`;
  if (python === undefined) return [`${paint('red', '✗')} ${title}: none that the process driver can use`, remedy];
  const whose = python.kind === 'own' ? "Hotcell's own environment" : "the system's";
  const what = `${python.version}, ${whose}, ${Object.keys(python.packages).length} packages`;
  if (python.missing.length === 0)
    return [`${paint('green', '✓')} ${title}: ${what}`, paint('dim', `  ${python.python}`)];
  return [
    `${paint('yellow', '!')} ${title}: ${what}; missing: ${python.missing.join(', ')}`,
    paint('dim', `  ${python.python}`),
    remedy,
  ];
}

function autoLines({ driver, minIsolation, passedOver }: AutoFinding, paint: Paint): string[] {
  if (driver === undefined) {
    const least = isWeakest(minIsolation, DRIVERS) ? '' : ` of at least ${minIsolation}`;
    return [`${paint('red', '✗')} isolation auto: no driver${least} works here, so no code can run.`];
  }
  const passed = passedOver.map((other) => other.driver).join(' and ');
  const why = passed === '' ? 'the strongest driver there is' : `stronger, but not available: ${passed}`;
  return [`${paint('green', '✓')} isolation auto uses ${paint('bold', driver)} (${why}).`];
}
