import { carry } from './carry.ts';
import type { Connected, Connections } from './connections.ts';
import type { ConnectionEnd, OpenConnection, Opening, RequestedTarget } from './contract.ts';
import { judgeFirstBytes } from './first-bytes-check.ts';

/** Opens a connection whose bytes are the client's own protocol; see `SessionNetwork.open`. */
export async function openTunnelTo(
  connections: Connections,
  requested: RequestedTarget,
  signal?: AbortSignal,
): Promise<Opening> {
  const opening = await connections.connect(requested, 'tunnel', signal);
  if (opening.kind !== 'connected') return opening;
  return { kind: 'open', connection: asTunnel(opening.connected, connections) };
}

function asTunnel(connected: Connected, connections: Connections): OpenConnection {
  const { target, socket, address, exact } = connected;
  const { clock, limits, tlsOnlyPorts } = connections.options;
  const tlsOnly = tlsOnlyPorts.includes(target.port);
  const cancelUncarried = clock.after(limits.idleMs, () => connected.end('idle'));
  const refusal = (refused: Parameters<Connections['refuse']>[1]) => connections.refuse(target, refused, 'tunnel');
  connected.onStop((why) => {
    refusal({ why });
    connected.end('refused');
  });
  let carried: Promise<ConnectionEnd> | undefined;

  return {
    target,
    address,
    carry: (client) => {
      cancelUncarried();
      carried ??= (async () => {
        const carrying = carry({
          client,
          server: socket,
          judge: (bytes, isAll) => judgeFirstBytes(bytes, { target, tlsOnly, exact }, isAll),
          holdServer: tlsOnly,
          count: connected.count,
          idleMs: limits.idleMs,
          clock,
        });
        connected.onStop((why) => carrying.stop({ kind: 'refused', why }));
        const end = await carrying.ended;
        connected.end(end.kind);
        if (end.kind !== 'refused') return end;
        const { kind: _, ...refused } = end;
        return { kind: 'refused', refusal: refusal(refused) };
      })();
      return carried;
    },
    close: () => {
      cancelUncarried();
      connected.end('broken');
    },
  };
}
