import type Docker from 'dockerode';
import { createEngineConnector, type Engine, type EngineConnector } from '../../src/drivers/docker/engine.ts';

/**
 * The engine of this machine, but for its answer to a container with folders of the host: it does not know them, like an engine in a virtual machine or beside
 * another container.
 */
export interface RefusingEngine {
  readonly connector: EngineConnector;
  /** The number of containers that it has refused to create. */
  refused(): number;
}

export function refusingEngine(): RefusingEngine {
  const connector = createEngineConnector('docker');
  let refused = 0;
  const wrapped = (engine: Engine): Engine => {
    const docker = Object.create(engine.docker) as Docker;
    docker.createContainer = (async (options: { _body: { HostConfig: { Mounts: { Source: string }[] } } }) => {
      const [bind] = options._body.HostConfig.Mounts;
      if (bind === undefined) return engine.docker.createContainer(options as never);
      refused += 1;
      const reason = `invalid mount config for type "bind": bind source path does not exist: ${bind.Source}`;
      throw Object.assign(new Error(`(HTTP code 400) unexpected - ${reason}`), {
        statusCode: 400,
        json: { message: reason },
      });
    }) as never;
    return { ...engine, docker };
  };
  return {
    refused: () => refused,
    connector: {
      ...connector,
      connect: async (options) => wrapped(await connector.connect(options)),
      ask: (doing, request, options) => connector.ask(doing, (engine) => request(wrapped(engine)), options),
    },
  };
}
