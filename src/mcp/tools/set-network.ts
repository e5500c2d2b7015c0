import * as z from 'zod';
import { refuseLoopbackRules } from '../../network/loopback-rules.ts';
import { isNone, settingText } from '../../network/session-rules.ts';
import { defineTool } from '../define-tool.ts';
import { withNetworkConsent } from '../network-consent.ts';
import { networkArgument } from './network-argument.ts';
import { sessionArgument } from './session-argument.ts';

export const setNetwork = defineTool({
  name: 'set_network',
  title: 'Set the network of a session',
  description: `Sets the hosts that code in a session may reach, replacing the earlier setting. Ask only for what you need: the operator limits it, and the user may be asked. Data can leak through any host, registries included.

  {"network": ["api.example.com", "*.example.org", "db.example.com:5432"]}
  {"network": ["all", "!example.net"]}
  {"network": ["registries"]}   the user's package registries
  {"network": ["none"]}`,
  input: z.strictObject({ network: networkArgument, session_id: sessionArgument }),
  output: z.object({ session_id: z.string(), network: z.array(z.string()) }),
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  needsNetwork: true,
  isLong: true,
  async handler({ network, session_id }, call) {
    refuseLoopbackRules(network);
    const { directory, owner } = call.deps;
    const managed = await directory.use(owner, session_id, { signal: call.signal, via: 'set_network' });
    await withNetworkConsent(call, `session ${managed.name ?? managed.id}`, (granted) =>
      managed.setNetwork(network, { via: 'set_network', ...(granted === undefined ? {} : { granted }) }),
    );
    const how = isNone(network)
      ? ''
      : ' Programs reach it through the proxy in HTTPS_PROXY, which most of them use by themselves.';
    const text = `The network of the session is now: ${settingText(network)}.${how}`;
    return {
      structured: { session_id: managed.id, network },
      content: [{ type: 'text', text }],
    };
  },
});
