import type { LiveSandbox } from '../guest/live-sandbox.ts';
import type { NetworkSetting } from '../network/contract.ts';
import type { RefusedConnections } from '../network/refused-connections.ts';

/** The network of one session, as its core uses it. `sessions/session-networking.ts` is the implementation. */
export interface NetworkControl {
  setting(): NetworkSetting;
  /** Names of the operator's services that the session may use. */
  services(): readonly string[];
  /**
   * Changes the setting. Connections that it no longer allows are closed when it resolves, and executions that begin
   * later see the new variables. Rejects with `network_denied` above the ceiling, and changes nothing then.
   */
  set(setting: NetworkSetting, options: SetNetworkOptions): Promise<void>;
  /** Collects the refused connections from now on, for the result of an execution. */
  watchRefusals(): RefusalWatch;
}

export interface SetNetworkOptions {
  /** Rules that a person allowed beyond the ceiling. SECURITY: never a caller's own word. */
  readonly granted?: readonly string[] | undefined;
  /** Uses the sandbox that the session has now. */
  readonly use: (work: (live: LiveSandbox) => Promise<void>) => Promise<void>;
}

export interface RefusalWatch {
  /** Ends the watch. Undefined if nothing was refused. */
  end(): RefusedConnections | undefined;
}
