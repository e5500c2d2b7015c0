import { TextDecoder } from 'node:util';
import { HotcellError } from '../errors/hotcell-error.ts';
import { artifactList, clearMessage, displayMessage, type Finished, finishedMessage } from '../guest/messages.ts';
import { createBoundedOutput } from '../lib/bounded-output.ts';
import type { Frame } from '../lib/frames.ts';
import { ProtocolViolation } from '../lib/frames.ts';
import { mediaTypeOf } from '../lib/media-type.ts';
import { createSpool } from '../lib/spool.ts';
import { createDisplayTable } from './displays.ts';
import type { ExecutionEvent } from './events.ts';
import type { Artifact, Display, Representation, Truncation, Value } from './result.ts';

export interface OutputLimits {
  /** Kept of the beginning and of the end of each stream. */
  readonly headBytes: number;
  readonly tailBytes: number;
  readonly logBytes: number;
  readonly displayBytes: number;
}

const MAX_VALUE_BYTES = 65_536;

export const DEFAULT_OUTPUT_LIMITS: OutputLimits = {
  headBytes: 65_536,
  tailBytes: 65_536,
  logBytes: 64 * 1_048_576,
  displayBytes: 32 * 1_048_576,
};

/** Turns the frames of one execution into events and, at the end, into the parts of a result. Bounded whatever the guest sends. */
export interface Collector {
  receive(frame: Frame): void | Promise<void>;
  addGap(bytes: number): void;
  finished(): CollectedEnd | undefined;
  parts(): CollectedParts;
  close(): Promise<void>;
}

export interface CollectedEnd extends Finished {
  readonly artifacts: readonly Artifact[];
}

export interface CollectedParts {
  readonly stdout: string;
  readonly stderr: string;
  readonly value?: Value;
  readonly displays: readonly Display[];
  readonly truncation?: Truncation;
}

export function createCollector(
  logPath: string,
  limits: OutputLimits,
  emit: (event: ExecutionEvent) => void | Promise<void>,
  isListening: () => boolean = () => true,
): Collector {
  const newOutputs = () => ({ stdout: createBoundedOutput(limits), stderr: createBoundedOutput(limits) });
  let outputs = newOutputs();
  const decoders: { stdout?: TextDecoder; stderr?: TextDecoder } = {};
  const spool = createSpool(logPath, {
    beginAtBytes: limits.headBytes + limits.tailBytes,
    limitBytes: limits.logBytes,
  });
  const displays = createDisplayTable(limits.displayBytes);
  let clearNext = false;
  let gapBytes = 0;
  let valueShown: readonly Representation[] = [];
  let value: Value | undefined;
  let end: CollectedEnd | undefined;

  function decoderOf(name: 'stdout' | 'stderr'): TextDecoder {
    decoders[name] ??= new TextDecoder();
    return decoders[name];
  }

  function output(name: 'stdout' | 'stderr', body: Buffer): void | Promise<void> {
    outputs[name].push(body);
    const spooled = spool.push(body);
    // Text that nobody reads is not made.
    const text = isListening() ? decoderOf(name).decode(body, { stream: true }) : '';
    const emitted = text === '' ? undefined : emit({ kind: name, text });
    if (spooled === undefined && emitted === undefined) return;
    return Promise.all([spooled, emitted]).then(() => {});
  }

  function display(frame: Frame): void | Promise<void> {
    const whole = displays.receive(displayMessage.parse(frame.head), frame.body);
    if (whole === undefined) return;
    const { isValue, ...shown } = whole;
    if (!isValue) return emit({ kind: 'display', ...shown });
    valueShown = shown.representations;
  }

  function clear(): void {
    clearNext = false;
    outputs = newOutputs();
    displays.clear();
  }

  function receive(frame: Frame): void | Promise<void> {
    if (end !== undefined) throw new ProtocolViolation('event: after finished');
    switch (frame.head.type) {
      case 'stdout':
      case 'stderr':
        if (clearNext) clear();
        return output(frame.head.type, frame.body);
      case 'display':
        if (clearNext) clear();
        return display(frame);
      case 'clear': {
        const { wait } = clearMessage.parse(frame.head);
        if (wait) clearNext = true;
        else clear();
        return emit({ kind: 'clear', wait });
      }
      case 'value':
        if (frame.body.length > MAX_VALUE_BYTES) throw new ProtocolViolation(`value: ${frame.body.length} bytes`);
        value = {
          text: frame.body.toString('utf8'),
          truncated: frame.head.truncated === true,
          representations: valueShown,
        };
        return emit({ kind: 'value', ...value });
      case 'finished':
        end = { ...finishedMessage.parse(frame.head), artifacts: parseArtifacts(frame.body) };
        return;
      default:
        throw new ProtocolViolation(`event: ${frame.head.type.slice(0, 40)} is not known`);
    }
  }

  function truncation(): Truncation | undefined {
    const path = spool.path();
    const found: Truncation = {
      stdoutDroppedBytes: outputs.stdout.droppedBytes(),
      stderrDroppedBytes: outputs.stderr.droppedBytes(),
      displaysDropped: displays.dropped(),
      logDroppedBytes: spool.droppedBytes() + gapBytes,
      ...(path === undefined ? {} : { logPath: path }),
    };
    const dropped = found.stdoutDroppedBytes + found.stderrDroppedBytes + found.displaysDropped + gapBytes;
    return dropped > 0 ? found : undefined;
  }

  return {
    receive,
    addGap: (bytes) => {
      gapBytes += bytes;
    },
    finished: () => end,
    parts: () => {
      const cut = truncation();
      return {
        stdout: outputs.stdout.text(),
        stderr: outputs.stderr.text(),
        displays: displays.shown(),
        ...(value === undefined ? {} : { value }),
        ...(cut === undefined ? {} : { truncation: cut }),
      };
    },
    close: () => spool.close(),
  };
}

function parseArtifacts(body: Buffer): Artifact[] {
  try {
    return artifactList
      .parse(JSON.parse(body.toString('utf8')))
      .map((file) => ({ ...file, mediaType: mediaTypeOf(file.path) }));
  } catch (error) {
    throw new HotcellError('guest_misbehaved', 'the guest sent a list of artifacts that cannot be read', {
      cause: error,
    });
  }
}
