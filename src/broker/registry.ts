import type { SessionInstalls } from './installs.ts';
import type { Method } from './method.ts';
import { CONNECT, connectMethod } from './methods/connect.ts';
import { CREDENTIALS, credentialsMethod } from './methods/credentials.ts';
import { FORWARD, forwardMethod } from './methods/forward.ts';
import { HTTP, httpMethod } from './methods/http.ts';
import { INSTALL, packagesInstallMethod } from './methods/packages-install.ts';
import type { SessionNetworks } from './networks.ts';

/** The parts that methods are made of. */
export interface MethodParts {
  readonly networks: SessionNetworks;
  readonly installs: SessionInstalls;
}

/** The methods that sandboxes can call, one line each. A session may call those that `sessions/` names when it binds it. */
export function methodsFrom({ networks, installs }: MethodParts): readonly Method[] {
  return [
    connectMethod(networks),
    httpMethod(networks),
    forwardMethod(networks),
    credentialsMethod(networks),
    packagesInstallMethod(installs),
  ];
}

/** The methods of a session that has a network. */
export const NETWORK_METHODS: readonly string[] = [CONNECT, HTTP];

/** The methods of a session that may use services of the operator. */
export const SERVICE_METHODS: readonly string[] = [FORWARD, CREDENTIALS];

/** The methods of a session that may install packages. */
export const INSTALL_METHODS: readonly string[] = [INSTALL];
