import type { JSONRPCMessage, McpServer, Transport } from '@modelcontextprotocol/server';
import { clip } from '../lib/clip.ts';

/** Maximum length of a protocol error's message. */
const MESSAGE_CHARS = 2_000;

/**
 * SECURITY: the SDK lists every fault of a request in its errors, each with path and name. The answer to ten thousand
 * wrong arguments would be megabytes.
 */
export function shortenErrors({ server }: McpServer): void {
  const connect = server.connect.bind(server);
  server.connect = (transport: Transport) => {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => send(shortened(message), options);
    return connect(transport);
  };
}

function shortened<Message extends JSONRPCMessage>(message: Message): Message {
  if (!('error' in message) || message.error.message.length <= MESSAGE_CHARS) return message;
  return { ...message, error: { ...message.error, message: clip(message.error.message, MESSAGE_CHARS).text } };
}
