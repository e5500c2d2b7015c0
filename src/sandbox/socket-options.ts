import { ALLOW, argument, ifEqual, type Line, label, load, refuse } from './bpf.ts';

const ENOPROTOOPT = 92;

/**
 * The socket options that programs set, by level. Each is a number or a bit of one socket.
 *
 * SECURITY: many others are kernel state that no limit counts or that the whole host shares. Socket filters
 * (SO_ATTACH_FILTER, SO_ATTACH_REUSEPORT_CBPF) use the host-wide memory for compiled programs: once it is used up, no
 * process on the host can load a seccomp filter. Leaving a multicast group takes the host's network lock, and a process
 * with many of them outlives its end by minutes. IPv6 flow labels are counted host-wide. Errors and timestamps
 * (IP_RECVERR, SO_TIMESTAMP) queue packets outside the buffers, or patch kernel code while they are on.
 */
export const SETTABLE_OPTIONS: Readonly<Record<number, Readonly<Record<string, number>>>> = {
  // SOL_SOCKET
  1: {
    ...{ SO_REUSEADDR: 2, SO_DONTROUTE: 5, SO_BROADCAST: 6, SO_SNDBUF: 7, SO_RCVBUF: 8, SO_KEEPALIVE: 9 },
    ...{ SO_OOBINLINE: 10, SO_PRIORITY: 12, SO_REUSEPORT: 15, SO_PASSCRED: 16, SO_RCVLOWAT: 18 },
    ...{ SO_RCVTIMEO: 20, SO_SNDTIMEO: 21, SO_RCVTIMEO_NEW: 66, SO_SNDTIMEO_NEW: 67 },
  },
  // IPPROTO_IP
  0: {
    ...{ IP_TOS: 1, IP_TTL: 2, IP_PKTINFO: 8, IP_MTU_DISCOVER: 10, IP_RECVTTL: 12, IP_RECVTOS: 13 },
    ...{ IP_BIND_ADDRESS_NO_PORT: 24, IP_MULTICAST_IF: 32, IP_MULTICAST_TTL: 33, IP_MULTICAST_LOOP: 34 },
    IP_MULTICAST_ALL: 49,
  },
  // IPPROTO_TCP
  6: {
    ...{ TCP_NODELAY: 1, TCP_MAXSEG: 2, TCP_CORK: 3, TCP_KEEPIDLE: 4, TCP_KEEPINTVL: 5, TCP_KEEPCNT: 6 },
    ...{ TCP_SYNCNT: 7, TCP_DEFER_ACCEPT: 9, TCP_QUICKACK: 12, TCP_USER_TIMEOUT: 18, TCP_NOTSENT_LOWAT: 25 },
    TCP_INQ: 36,
  },
  // IPPROTO_IPV6
  41: {
    ...{ IPV6_UNICAST_HOPS: 16, IPV6_MULTICAST_IF: 17, IPV6_MULTICAST_HOPS: 18, IPV6_MULTICAST_LOOP: 19 },
    ...{ IPV6_MTU_DISCOVER: 23, IPV6_V6ONLY: 26, IPV6_MULTICAST_ALL: 29, IPV6_RECVPKTINFO: 49 },
    ...{ IPV6_RECVHOPLIMIT: 51, IPV6_RECVTCLASS: 66, IPV6_TCLASS: 67 },
  },
};

/**
 * SO_LINGER is accepted without effect, because Java sets it to its current value, and libuv and memcached on every
 * close: a close never waits, and never resets.
 *
 * SECURITY: when Linux itself closes such a socket (sent over a Unix socket and never received), it waits for the
 * linger time in the one thread that closes files for the whole host. The time is behind a pointer, so the filter
 * cannot check it.
 */
export const IGNORED_OPTION = { level: 1, option: 13 } as const;

/**
 * The options that `setsockopt` may set. For others it fails as on a kernel without that option, which programs handle.
 */
export function setsAllowedOption(): readonly Line[] {
  const levels = Object.entries(SETTABLE_OPTIONS);
  return [
    load(argument(1)),
    ...levels.map(([level]) => ifEqual(Number(level), level)),
    refuse(ENOPROTOOPT),
    ...levels.flatMap(([level, options]) => [
      label(level),
      load(argument(2)),
      ...(Number(level) === IGNORED_OPTION.level ? [ifEqual(IGNORED_OPTION.option, 'ignore')] : []),
      ...Object.values(options).map((option) => ifEqual(option, 'allow')),
      refuse(ENOPROTOOPT),
    ]),
    label('ignore'),
    refuse(0),
    label('allow'),
    ALLOW,
  ];
}
