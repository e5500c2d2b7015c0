import { openHotcell } from '../../main.ts';
import { painterFor } from '../print.ts';
import { examine } from './examine.ts';
import { findingsText } from './findings-text.ts';

/** Examines this machine and prints what was found. Answers with the exit code: 0 where anything works. */
export async function doctor(options: { json?: boolean }): Promise<number> {
  await using hotcell = await openHotcell({ poolSize: 0 });
  const findings = await examine(hotcell);
  const text = options.json ? JSON.stringify(findings, null, 2) : findingsText(findings, painterFor(process.stdout));
  process.stdout.write(`${text}\n`);
  return findings.probes.some(({ available }) => available) ? 0 : 1;
}
