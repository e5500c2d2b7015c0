import { readFileSync } from 'node:fs';
import { requirementsFile, standardEnvironment, standardSizes } from '../../src/drivers/python-packages.ts';

/** docs/packages.md: what every sandbox has, from `images/python/standard.json` and the lock. */
export function packagesPage(): string {
  const { packages, programs, fonts } = standardEnvironment();
  const size = standardSizes;
  const versions = lockedVersions();
  const groups = Object.entries(packages).map(([title, group]) => [
    `### ${title}`,
    table(
      ['package', 'version', 'for'],
      Object.entries(group).map(([name, use]) => [`\`${name}\``, versions.get(name) ?? '', use]),
    ),
  ]);
  const listed = (entries: typeof programs) => Object.entries(entries).map(([name, { use }]) => [name, use]);
  return `${[
    '# Standard packages and programs',
    '<!-- Generated from images/python/standard.json and requirements.txt: npx vitest run test/documents.test.ts -u -->',
    `Every Python sandbox has these packages: the standard image of docker and gvisor, and the environment that
\`hotcell setup process\` makes. They are about ${size.downloadMB} MB to download and ${gigabytes(size.installedMB)} installed; the image is ${gigabytes(size.imageMB)}. A sandbox
has no network; code installs others through the host, or you add them: [Adding packages](guides/packages.md) says how.`,
    '## Python packages',
    ...groups.flat(),
    '## Programs',
    `The standard image has these, beside bash, Node, Perl and the usual tools of Debian. With the process driver a sandbox
has the programs of this machine's \`/usr\`: \`hotcell setup process\` says which of these it lacks.`,
    table(
      ['program', 'for'],
      listed(programs).map(([name, use]) => [`\`${name}\``, use!]),
    ),
    '## Fonts',
    `matplotlib uses these for characters that its own font, DejaVu Sans, does not have. With the process driver the fonts
are those of this machine, as they were when \`hotcell setup process\` ran.`,
    table(['font', 'for'], listed(fonts) as string[][]),
  ].join('\n\n')}\n`;
}

function gigabytes(megabytes: number): string {
  return `${(megabytes / 1000).toFixed(1)} GB`;
}

function lockedVersions(): Map<string, string> {
  const lock = readFileSync(requirementsFile(), 'utf8');
  return new Map([...lock.matchAll(/^([^\s=]+)==(\S+)/gm)].map(([, name, version]) => [name!, version!]));
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '--')), ...rows.map(line)].join('\n');
}
