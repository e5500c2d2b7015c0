import { carry } from './carry.ts';
import type { Connected, Connections } from './connections.ts';
import type { ConnectionEnd, OpenConnection, Opening, RequestedTarget } from './contract.ts';
import { judgeFirstBytes } from './first-bytes-check.ts';
import type { HttpForwarder } from './http-forward.ts';

/** Opens a connection whose bytes are the client's own protocol; see `SessionNetwork.open`. */
export async function openTunnelTo(
  connections: Connections,
  requested: RequestedTarget,
  { serveHttp, signal }: { serveHttp: HttpForwarder['serve']; signal?: AbortSignal },
): Promise<Opening> {
  const opening = await connections.connect(requested, 'tunnel', { signal, isCarried: true });
  if (opening.kind !== 'connected') return opening;
  const { connected } = opening;
  const isHttp = connections.options.httpOnlyPorts.includes(connected.target.port);
  const tunnel = asTunnel(connected, connections);
  return { kind: 'open', connection: isHttp ? asHttp(tunnel, serveHttp) : tunnel };
}

/**
 * SECURITY: on port 80 the Host header chooses among the hosts of a server, as the name of a ClientHello does on 443, in each request anew. So requests are read and
 * checked one by one; they get connections of their own. That the server could be reached is known by then.
 */
function asHttp(tunnel: OpenConnection, serveHttp: HttpForwarder['serve']): OpenConnection {
  let serving: Promise<ConnectionEnd> | undefined;
  return {
    ...tunnel,
    carry: (client) => {
      tunnel.close();
      serving ??= serveHttp(client, tunnel.target).then(() => ({ kind: 'ended' }));
      return serving;
    },
  };
}

function asTunnel(connected: Connected, connections: Connections): OpenConnection {
  const { target, socket, address, exact } = connected;
  const { clock, limits, tlsOnlyPorts, checksFirstBytes } = connections.options;
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
          judge: (bytes, isAll) =>
            checksFirstBytes ? judgeFirstBytes(bytes, { target, tlsOnly, exact }, isAll) : { kind: 'pass' },
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
      connected.end(carried === undefined ? 'ended' : 'broken');
    },
  };
}
