import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../lib/package-root.ts';
import { sizeText } from '../../lib/units.ts';
import { unlessMissing } from '../../lib/unless-missing.ts';
import { DATA_PARTS } from '../data-folder.ts';
import { type Paint, shownName } from '../print.ts';
import type { OwnData } from './own-data.ts';
import type { Plan } from './plan.ts';

/** The plan as a list for the person who is asked. */
export function planText({ clients, containers, images, dataFolder }: Plan, paint: Paint): string {
  const { path, parts, sizeBytes } = dataFolder;
  return [
    paint('bold', 'This removes:'),
    ...clients.flatMap(({ title, changes }) =>
      changes.map(
        ({ path: file, after }) => `  the entry in ${title}: ${file}${after === undefined ? ' (the file)' : ''}`,
      ),
    ),
    ...(containers.length === 0 ? [] : [`  ${containers.length} containers, with the persistent sessions in them`]),
    ...images.map(({ name, size }) => `  the image ${shownName(name)} (${size})`),
    ...(parts.length === 0 ? [] : [`  the data in ${path} (${sizeText(sizeBytes)}):`]),
    ...parts.flatMap(({ name, purpose, sizeBytes: bytes, entries = [] }) => [
      `    ${sizeText(bytes).padEnd(8)}  ${name.padEnd(LONGEST_NAME)}  ${purpose}`,
      ...entries.map((entry) => `    ${' '.repeat(8)}    ${name}/${shownName(entry)}`),
    ]),
    ...keptLines(dataFolder),
  ].join('\n');
}

const LONGEST_NAME = Math.max(...Object.keys(DATA_PARTS).map((name) => name.length));
const MOST_KEPT = 20;

/** Lines about what stays in the data folder. */
export function keptLines({ path, isInstalled, kept }: OwnData): string[] {
  if (kept.length === 0) return [];
  const names = kept.slice(0, MOST_KEPT).map(shownName);
  const more = kept.length > MOST_KEPT ? [`and ${kept.length - MOST_KEPT} more`] : [];
  const why = isInstalled ? 'Hotcell did not write it' : 'the folder has no file "installation" of Hotcell';
  return [`This stays in ${path}, because ${why}: ${[...names, ...more].join(', ')}`];
}

const DAEMON_CONFIG = '/etc/docker/daemon.json';

/** What is left to the user: the program itself, entries of projects, and what needs root. */
export function remainingSteps({ dataFolder }: Plan, root: string = packageRoot()): string[] {
  const daemon = unlessMissing(() => readFileSync(DAEMON_CONFIG, 'utf8')) ?? '';
  return [
    'Left to you:',
    existsSync(join(root, '.git')) ? `  the clone: delete ${root}` : '  the program: npm uninstall -g hotcell',
    '  entries in projects, in each: hotcell install <client> --scope project --undo',
    ...(daemon.includes(join(dataFolder.path, 'bin'))
      ? [`  gVisor in Docker: remove the runtime runsc from ${DAEMON_CONFIG}, then: sudo systemctl reload docker`]
      : []),
  ];
}
