import { sizeText } from '../../lib/units.ts';
import type { ServerFacts } from '../../sessions/server-facts.ts';
import { type Paint, shownName } from '../print.ts';
import type { Status } from './find-status.ts';

/** Parts of the data folder below this size are summed up. */
const SMALL_BYTES = 1_048_576;

/** The status as text: servers, sessions, then what is on the disk. */
export function statusText({ version, servers, persistentSessions, dataFolder, images }: Status, paint: Paint): string {
  const title = (text: string) => paint('bold', text);
  const large = dataFolder.parts.filter(({ sizeBytes }) => sizeBytes >= SMALL_BYTES);
  const small = dataFolder.sizeBytes - large.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  return [
    `Hotcell ${version}`,
    '',
    title('Servers'),
    ...orNone(servers.map(serverLine), 'none (hotcell serve starts one)'),
    '',
    title('Persistent sessions'),
    ...orNone(
      persistentSessions.map(({ session_id, driver, held }) => {
        return `${shownName(session_id)}  ${driver}  ${held ? 'in use by a running server' : 'no server'}`;
      }),
      'none',
    ),
    '',
    `${title('Data folder')} ${dataFolder.path}: ${sizeText(dataFolder.sizeBytes)}`,
    ...large.map(({ purpose, sizeBytes }) => `  ${sizeText(sizeBytes).padEnd(8)}  ${purpose}`),
    ...(small > 0 ? [`  ${sizeText(small).padEnd(8)}  the rest`] : []),
    '',
    title('Images of the Docker engine'),
    ...orNone(
      (images ?? []).map(({ name, size }) => `${size.padEnd(8)}  ${shownName(name)}`),
      images === undefined ? 'unknown: no engine answers' : 'none',
    ),
    '',
    paint('dim', 'hotcell doctor: what works here. hotcell uninstall: remove all of this.'),
  ].join('\n');
}

function orNone(lines: readonly string[], none: string): string[] {
  return (lines.length === 0 ? [none] : lines).map((line) => `  ${line}`);
}

function serverLine({ command, url, isolation, sessions, pid, startedAt }: ServerFacts): string {
  return [
    command === undefined ? 'a program that uses the library' : `hotcell ${command}`,
    ...(url === undefined ? [] : [url]),
    ...(isolation === undefined ? [] : [isolation]),
    sessions === 1 ? '1 session' : `${sessions} sessions`,
    `pid ${pid}`,
    `since ${startedAt.slice(0, 16)}Z`,
  ].join('  ');
}
