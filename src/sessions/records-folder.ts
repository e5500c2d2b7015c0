import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The folder for records of sessions that outlive their servers. */
export function recordsFolder(dataDir: string): string {
  return join(dataDir, 'persistent');
}

/** Whether there may be any records. Cheap, and without side effects. */
export async function hasRecords(dataDir: string): Promise<boolean> {
  const names = await readdir(recordsFolder(dataDir)).catch(() => []);
  return names.some((name) => name.endsWith('.json'));
}
