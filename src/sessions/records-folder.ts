import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Where an installation writes down the sessions that outlive their servers. */
export function recordsFolder(dataDir: string): string {
  return join(dataDir, 'persistent');
}

/** Whether there may be any. Cheap, and changes nothing. */
export async function hasRecords(dataDir: string): Promise<boolean> {
  const names = await readdir(recordsFolder(dataDir)).catch(() => []);
  return names.some((name) => name.endsWith('.json'));
}
