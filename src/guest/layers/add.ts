import type { LiveSandbox } from '../live-sandbox.ts';
import { layerReply, layersReply } from '../messages.ts';
import { rethrowAsOurs } from '../refusals.ts';
import { upload } from '../upload.ts';
import { bindLayer } from './bound.ts';
import { INSTALLER } from './installer-files.ts';
import { nextName } from './names.ts';
import { layerBytes } from './sent.ts';

export interface AddedLayer {
  /**
   * Modules that the kernel has loaded in another version, and keeps until it is reset. Names of the guest: untrusted.
   */
  readonly superseded: readonly string[];
}

/**
 * Adds a tree of packages to a live sandbox: code that is running can import from it at once. The tree is a folder of
 * this host with `python`, `bin` and `node_modules`, of which each may be absent; it must not change while a sandbox
 * has it. Rejects with `package_refused` if the tree has an entry that no sandbox may get.
 */
export async function addLayer(
  { sandbox, connection }: Pick<LiveSandbox, 'sandbox' | 'connection'>,
  tree: string,
): Promise<AddedLayer> {
  if (sandbox.layers !== undefined) {
    const name = await bindLayer(sandbox.layers, tree);
    return (await connection.request({ type: 'layer', name }, layerReply).catch(rethrowAsOurs)).result;
  }
  const { result } = await connection.request({ type: 'layers' }, layersReply).catch(rethrowAsOurs);
  const name = nextName(result.names);
  const hasInstaller = result.names.includes(INSTALLER);
  const bytes = layerBytes(name, tree, { hasInstaller });
  const sent = upload(connection, { type: 'layer.write', name }, bytes, { schema: layerReply });
  return (await sent.catch(rethrowAsOurs)).result;
}
