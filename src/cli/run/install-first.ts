import type { Installation } from '../../sessions/installation.ts';
import type { Outputs } from '../output.ts';
import { shownName } from '../print.ts';

/** Installs what a program needs, and says so: it may take a while. `stderr` is undefined where only the result is printed. */
export async function installFirst(
  packages: readonly string[],
  stderr: Outputs['stderr'] | undefined,
  install: () => Promise<Pick<Installation, 'installed' | 'superseded'>>,
): Promise<void> {
  if (packages.length === 0) return;
  const say = (text: string) => stderr?.say(`hotcell: ${text}`);
  await say(`installing ${packages.map(shownName).join(', ')}`);
  const { installed, superseded } = await install();
  if (installed.length > 0)
    await say(`installed ${installed.map(({ name, version }) => shownName(`${name} ${version}`)).join(', ')}`);
  for (const { name, from, to } of superseded) await say(shownName(`${name} ${to} replaces ${from}`));
}
