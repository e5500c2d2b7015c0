import type { LiveSandbox } from '../live-sandbox.ts';
import { layerReply, layersReply } from '../messages.ts';
import { upload } from '../upload.ts';
import { bindInstaller } from './bound-installer.ts';
import { INSTALLER } from './installer-files.ts';
import { installerBytes } from './sent.ts';

/** Gives a sandbox our `pip`, `uv` and `npm`, as a layer before all others. Does nothing if it has them. */
export async function addInstaller(live: Pick<LiveSandbox, 'sandbox' | 'connection'>): Promise<void> {
  const { sandbox, connection } = live;
  if (sandbox.layers !== undefined) return bindInstaller(sandbox.layers);
  const { result } = await connection.request({ type: 'layers' }, layersReply);
  if (result.names.includes(INSTALLER)) return;
  await upload(connection, { type: 'layer.write', name: INSTALLER }, installerBytes(), { schema: layerReply });
}
