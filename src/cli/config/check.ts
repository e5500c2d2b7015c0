import { statSync } from 'node:fs';
import { configFilePath, configWarnings, explainConfig, resolveDataDir, useConfigFile } from '../../config/load.ts';
import { namedFilePath } from '../named-path.ts';
import { standardOutputs } from '../output.ts';

/**
 * Checks the configuration in force, or with `path` in place of the file. Throws for the first problem; warnings do not
 * change the exit code.
 */
export async function checkConfig(path: string | undefined, flags: { json?: boolean }): Promise<number> {
  if (path !== undefined) useConfigFile(namedFilePath(path));
  const { config, origins, file } = explainConfig({});
  const readable = file !== undefined && config.linkSecret !== undefined && origins.linkSecret.kind === 'file';
  const warnings = [
    ...configWarnings(),
    ...(readable && (statSync(file.path).mode & 0o077) !== 0
      ? [`${file.path} contains a secret and is readable by other users: run chmod 600.`]
      : []),
  ];
  const set = Object.values(origins).filter(({ kind }) => kind === 'file').length;
  const { stdout, stderr } = standardOutputs();
  if (flags.json) await stdout.json({ ok: true, file: file?.path ?? null, optionsFromFile: set, warnings });
  else {
    const none = () => `There is no configuration file. It would be ${configFilePath(resolveDataDir())}.`;
    await stdout.say(file === undefined ? none() : `${file.path}: ok, ${set} options set.`);
    for (const warning of warnings) await stderr.say(`hotcell: ${warning}`);
  }
  return 0;
}
