import { openHotcell } from '../../main.ts';
import { standardOutputs } from '../output.ts';
import { examine } from './examine.ts';
import { findingsText } from './findings-text.ts';

/** Examines this machine and prints the findings. Returns the exit code: 0 if any driver works. */
export async function doctor(options: { json?: boolean }): Promise<number> {
  await using hotcell = await openHotcell({ poolSize: 0 });
  const findings = await examine(hotcell);
  const { stdout } = standardOutputs();
  await (options.json ? stdout.json(findings) : stdout.say(findingsText(findings, stdout.paint)));
  return findings.probes.some(({ available }) => available) ? 0 : 1;
}
