import { resolveDataDir, resolveRunDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { createFileRegistry } from '../../sessions/file-registry.ts';
import type { ServerFacts } from '../../sessions/server-facts.ts';
import { howServeIsCalled } from '../how-called.ts';

/** Explains why a server could not listen: names the Hotcell that has the port already, and how to choose another. */
export async function explainPort(thrown: unknown): Promise<unknown> {
  if (!(thrown instanceof HotcellError) || typeof thrown.data.portInUse !== 'number') return thrown;
  const dataDir = resolveDataDir();
  const servers = await createFileRegistry({ dataDir, runRoot: resolveRunDir(dataDir) }).servers();
  return portTaken(thrown, thrown.data.portInUse, servers);
}

export function portTaken(
  { message }: HotcellError,
  port: number,
  servers: readonly ServerFacts[],
  command: string = howServeIsCalled(),
): HotcellError {
  const another = `${command} --port ${port < 65_535 ? port + 1 : port - 1}`;
  const other = servers.find(({ url }) => url !== undefined && new URL(url).port === String(port));
  if (other === undefined) {
    const remedy = `Choose another port: ${another} (0: any free port)`;
    return new HotcellError('invalid_argument', message, { remedy, data: { portInUse: port } });
  }
  const { url, pid } = other;
  return new HotcellError('invalid_argument', `another Hotcell is serving on ${url} already (pid ${pid})`, {
    remedy: `Use that one, stop it (kill ${pid}), or choose another port: ${another}`,
    data: { portInUse: port, url, pid },
  });
}
