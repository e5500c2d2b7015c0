import type { DriverName, PassedOver } from '../../sandbox/isolation.ts';
import { howItIsCalled } from '../how-called.ts';

export interface Served {
  readonly url: string;
  readonly tokensRequired: boolean;
  readonly isolation: {
    readonly driver: DriverName;
    readonly level: number;
    readonly passedOver: readonly PassedOver[];
  };
  readonly version: string;
  /** Names of the offered tools. `hotcell run` needs Hotcell's own. */
  readonly tools: readonly string[];
}

/** The message when a server is up: its address, its isolation, and the commands that use it. */
export function greeting(served: Served, command: string = howItIsCalled()): string {
  const { url, tokensRequired, isolation, version, tools } = served;
  const hasOwn = tools.includes('run_code');
  const header = tokensRequired ? ' --header "Authorization: Bearer <token>"' : '';
  return `Hotcell ${version} is listening on ${url}

  isolation  ${isolation.driver} (level ${isolation.level})${passedOverText(isolation.passedOver, command)}
  tokens     ${tokensRequired ? `required: ${command} token create <name>` : notRequired(command)}

In a client:
  claude mcp add --transport http hotcell ${url}/mcp${header}

Try it:
  ${curlLine(url, tokensRequired, hasOwn ? OWN_CALL : CODE_SANDBOX_CALL)}${
    hasOwn
      ? `\n  ${tokensRequired ? 'HOTCELL_TOKEN=<token> ' : ''}${command} run -c 'print(6 * 7)' --server ${url}`
      : ''
  }

A worked example: ${command} demo
Ctrl-C stops the server and all its sessions, except persistent ones.
`;
}

/** Linux tells which user has the other end of a connection (`local-callers.ts`). */
function notRequired(command: string, platform = process.platform): string {
  return platform === 'linux'
    ? `not required for your own programs; other users need one: ${command} token create <name>`
    : 'not required: every program of this machine can use the server';
}

const OWN_CALL = { name: 'run_code', arguments: { code: '6 * 7' } };
const CODE_SANDBOX_CALL = { name: 'sandbox_run_python', arguments: { code: 'print(6 * 7)' } };

/** One call of a tool as a `curl` command. */
function curlLine(url: string, tokensRequired: boolean, params: typeof OWN_CALL): string {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  return [
    `curl -s ${url}/mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'`,
    ...(tokensRequired ? ["-H 'Authorization: Bearer <token>'"] : []),
    `-d '${JSON.stringify(call)}'`,
  ].join(' ');
}

function passedOverText(passedOver: readonly PassedOver[], command: string): string {
  const [strongest] = passedOver;
  return strongest === undefined
    ? ''
    : `; not ${strongest.driver}: ${strongest.reason}\n             ${command} doctor says how to fix it`;
}
