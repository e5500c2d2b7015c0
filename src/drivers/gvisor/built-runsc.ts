import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../lib/read-regular-file.ts';

/** Records that Hotcell built the runsc of the data folder, which may be a folder with a runsc of the user. */
export function recordBuiltRunsc(dataDir: string): void {
  writeFileSync(recordOf(dataDir), `${hashOf(readFileSync(runscOf(dataDir)))}\n`, { mode: 0o644 });
}

/** Whether the runsc of the data folder is the one that Hotcell built. */
export function isBuiltRunsc(dataDir: string): boolean {
  try {
    const [record, runsc] = [
      readRegularFile(recordOf(dataDir)),
      readRegularFile(runscOf(dataDir), LARGEST_RUNSC_BYTES),
    ];
    return record !== undefined && runsc !== undefined && record.toString('utf8').trim() === hashOf(runsc);
  } catch {
    return false;
  }
}

const LARGEST_RUNSC_BYTES = 512 * 1_048_576;

function runscOf(dataDir: string): string {
  return join(dataDir, 'bin', 'runsc');
}

function recordOf(dataDir: string): string {
  return join(dataDir, 'bin', 'runsc.hotcell');
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
