import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/lib/package-root.ts';

/** The examples that both sides of the protocol are tested against. */
export interface ProtocolExamples {
  readonly frames: readonly {
    readonly name: string;
    readonly from: 'host' | 'guest';
    readonly head: { readonly type: string } & Record<string, unknown>;
    /** base64 */
    readonly body: string;
    readonly stream: number;
    readonly sequence: number;
    readonly ack: number;
    /** The whole frame in hexadecimal. */
    readonly bytes: string;
  }[];
  /** What no reader may take for a frame. */
  readonly malformedFrames: readonly { readonly name: string; readonly bytes: string; readonly complaint: string }[];
  /** Frames in order whose message the host must refuse. */
  readonly malformedMessages: readonly {
    readonly name: string;
    readonly head: { readonly type: string } & Record<string, unknown>;
    readonly complaint: string;
  }[];
}

export function protocolExamples(): ProtocolExamples {
  return JSON.parse(readFileSync(join(packageRoot(), 'guest', 'protocol-examples.json'), 'utf8')) as ProtocolExamples;
}
