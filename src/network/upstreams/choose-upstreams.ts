import { HotcellError } from '../../errors/hotcell-error.ts';
import { type Upstreams, upstreamNames } from './upstream.ts';

export interface UpstreamChoice {
  /** Names that the owner may use; undefined for the local user, who may use all. */
  readonly allowed: readonly string[] | undefined;
  /** Names that the session asks for; undefined for all that the owner may use. */
  readonly asked: readonly string[] | undefined;
  /** Names that a session had at another server. Those that its owner may no longer use are dropped. */
  readonly kept?: readonly string[] | undefined;
}

/** The services of one session. Throws `network_denied` if it asks for one that its owner may not use. */
export function chooseUpstreams(configured: Upstreams, { allowed, asked, kept }: UpstreamChoice): Upstreams {
  const offered = upstreamNames(configured).filter((name) => allowed === undefined || allowed.includes(name));
  const missing = asked?.find((name) => !offered.includes(name));
  if (missing !== undefined) {
    throw new HotcellError('network_denied', `there is no service ${JSON.stringify(missing)} for this session`, {
      remedy:
        offered.length === 0
          ? 'The operator names services in the configuration (forwards, credentials), and grants them to a token by `hotcell token create --service`.'
          : `Ask for some of: ${offered.join(', ')}.`,
    });
  }
  const chosen = new Set(asked ?? kept?.filter((name) => offered.includes(name)) ?? offered);
  const only = <Value>(all: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => chosen.has(name)));
  return { forwards: only(configured.forwards), credentials: only(configured.credentials) };
}
