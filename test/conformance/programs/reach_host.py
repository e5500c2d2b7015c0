"""Tries to reach the host and the world. The proof of `network:closed` appends a call of what it needs."""

import json
import socket
import struct

PATIENCE_S = 2


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def exchange(kind, destination, message, where):
    with socket.socket(where, kind) as talk:
        talk.settimeout(PATIENCE_S)
        talk.connect(destination)
        talk.sendall(message)
        return talk.recv(4096) == message


def dns_query(nonce):
    labels = b"".join(bytes([len(part)]) + part for part in (nonce.encode(), b"example"))
    return struct.pack(">HHHHHH", 0x4843, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", 1, 1)


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def icmp_echo(address, nonce):
    v6 = ":" in address
    kind, protocol = (128, 58) if v6 else (8, 1)
    body = struct.pack(">BBHHH", kind, 0, 0, 0x4843, 1) + nonce.encode()
    packet = body if v6 else body[:2] + struct.pack(">H", checksum(body)) + body[4:]
    with socket.socket(family(address), socket.SOCK_RAW, protocol) as talk:
        talk.settimeout(PATIENCE_S)
        talk.sendto(packet, (address, 0))
        # A raw socket also sees the request where the host talks to itself.
        for _ in range(20):
            answer = talk.recv(4096)
            head = answer if v6 else answer[20:]
            if head[:1] == (b"\x81" if v6 else b"\0") and nonce.encode() in head:
                return True
    return False


def raw_udp(address, port, nonce):
    """A datagram with a header of our own making: only the host can tell whether it came."""
    datagram = struct.pack(">HHHH", 4711, port, 8 + len(nonce), 0) + nonce.encode()
    with socket.socket(family(address), socket.SOCK_RAW, socket.IPPROTO_UDP) as talk:
        if ":" in address:
            talk.setsockopt(socket.IPPROTO_IPV6, 7, 6)  # IPV6_CHECKSUM: the kernel fills it in
        talk.sendto(datagram, (address, 0))
    return False


def attempt(by, address, port, nonce):
    if by in ("unix", "abstract"):
        # Some versions of Node fill an abstract name up to its full length.
        names = (address, address.ljust(108, "\0")) if by == "abstract" else (address,)
        return any(succeeds(exchange, socket.SOCK_STREAM, name, nonce.encode(), socket.AF_UNIX) for name in names)
    if by == "icmp":
        return icmp_echo(address, nonce)
    if by == "raw-udp":
        return raw_udp(address, port, nonce)
    message = dns_query(nonce) if by.startswith("dns") else nonce.encode()
    kind = socket.SOCK_STREAM if by in ("tcp", "dns-tcp") else socket.SOCK_DGRAM
    return exchange(kind, (address, port), message, family(address))


def succeeds(attack, *arguments, **named):
    try:
        return attack(*arguments, **named)
    except OSError:
        return False


def reach_host(attempts):
    """Prints the nonces of the attempts that were answered."""
    print(json.dumps([one["nonce"] for one in attempts if succeeds(attempt, **one)]))


def has_route(address):
    """The kernel looks for a route when a datagram socket is connected, and sends nothing."""
    with socket.socket(family(address), socket.SOCK_DGRAM) as talk:
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        talk.connect((address, 80))
    return True


def sends(address):
    with socket.socket(family(address), socket.SOCK_DGRAM) as talk:
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        return talk.sendto(b"x", (address, 80)) == 1


def resolves(name):
    return len(socket.getaddrinfo(name, 80)) > 0


def find_routes(addresses):
    print(json.dumps([address for address in addresses if succeeds(has_route, address)]))


def leave(addresses, name):
    """Prints what got out: datagrams, connections, names, and interfaces beside the loopback."""
    got = [f"datagram to {address}" for address in addresses if succeeds(sends, address)]
    got += [f"connection to {address}" for address in addresses if succeeds(connects, address)]
    got += [f"{name} resolved"] if succeeds(resolves, name) else []
    interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line]
    print(json.dumps(got + [interface for interface in interfaces if interface != "lo"]))


def connects(address):
    socket.create_connection((address, 80), timeout=PATIENCE_S).close()
    return True


def own_loopback_works():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname()).close()
    print("works")
