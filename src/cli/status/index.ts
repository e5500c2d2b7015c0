import { standardOutputs } from '../output.ts';
import { findStatus } from './find-status.ts';
import { statusText } from './status-text.ts';

export async function status(flags: { json?: boolean }): Promise<void> {
  const { stdout } = standardOutputs();
  const found = await findStatus();
  await (flags.json ? stdout.json(found) : stdout.say(statusText(found, stdout.paint)));
}
