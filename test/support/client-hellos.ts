/** The parts of a ClientHello, to be put together rightly or wrongly. */
export function clientHello(extensions: readonly Buffer[] | undefined): Buffer {
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    vector(1, Buffer.alloc(32, 9)),
    vector(2, Buffer.from([0x0a, 0x0a, 0x13, 0x01, 0x13, 0x02])),
    vector(1, Buffer.from([0])),
    ...(extensions === undefined ? [] : [vector(2, Buffer.concat(extensions))]),
  ]);
  return Buffer.concat([Buffer.from([1]), vector(3, body)]);
}

export function extension(type: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), vector(2, content)]);
}

/** The content of a server_name extension with one name. */
export function serverNames(name: string): Buffer {
  return vector(2, Buffer.concat([Buffer.from([0]), vector(2, Buffer.from(name))]));
}

export function record(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([22, 3, 1]), vector(2, payload)]);
}

/** A handshake message in records of so many bytes. */
export function inRecords(message: Buffer, size = 16_384): Buffer {
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) records.push(record(message.subarray(at, at + size)));
  return Buffer.concat(records);
}

function vector(sizeOfLength: 1 | 2 | 3, content: Buffer): Buffer {
  const length = Buffer.alloc(sizeOfLength);
  length.writeUIntBE(content.length, 0, sizeOfLength);
  return Buffer.concat([length, content]);
}
