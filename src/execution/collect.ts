import { rm } from 'node:fs/promises';
import { TextDecoder } from 'node:util';
import { HotcellError } from '../errors/hotcell-error.ts';
import { typeOf } from '../guest/describe-violation.ts';
import { artifactList, clearMessage, displayMessage, type Finished, finishedMessage } from '../guest/messages.ts';
import { createFoldedOutput, type FoldedOutput } from '../lib/folded-output.ts';
import type { Frame } from '../lib/frames.ts';
import { ProtocolViolation } from '../lib/frames.ts';
import { mediaTypeOf } from '../lib/media-type.ts';
import { createSpool } from '../lib/spool.ts';
import { withoutEscapes } from '../lib/terminal-scanner.ts';
import { parseUtf8Json } from '../lib/utf8-json.ts';
import type { GuestOutcome } from '../sandbox/outcome-table.ts';
import { createDisplayTable } from './displays.ts';
import type { ExecutionEvent } from './events.ts';
import { createOutputOrder } from './output-order.ts';
import type { Artifact, Display, OutputPart, Representation, Truncation, Value } from './result.ts';

export interface OutputLimits {
  /** Bytes kept of the beginning and of the end of each stream. */
  readonly headBytes: number;
  readonly tailBytes: number;
  readonly logBytes: number;
  readonly displayBytes: number;
}

export const DEFAULT_OUTPUT_LIMITS: OutputLimits = {
  headBytes: 65_536,
  tailBytes: 65_536,
  logBytes: 64 * 1_048_576,
  displayBytes: 32 * 1_048_576,
};

/**
 * Maximum size of a `stdout` or `stderr` frame. SECURITY: the event loop serves other sessions between frames only, and
 * folding a megabyte takes a third of a second.
 */
const MAX_OUTPUT_BYTES = 65_536;

/**
 * Turns the frames of one execution into events and, at the end, into the parts of a result. Its memory is bounded,
 * whatever the guest sends. Events and the log are as printed; the text of the result is as a screen would show it,
 * without colours.
 */
export interface Collector {
  receive(frame: Frame): void | Promise<void>;
  addGap(bytes: number): void;
  finished(): CollectedEnd | undefined;
  parts(): CollectedParts;
  /** The last `chars` characters of each stream, at a cost that does not depend on the rest. */
  tail(chars: number): Pick<CollectedParts, 'stdout' | 'stderr'>;
  /** About the number of bytes of output that `parts` decodes. */
  outputBytes(): number;
  close(): Promise<void>;
  /** Closes the collector of an execution without a result, and removes its log. */
  discard(): Promise<void>;
}

export interface CollectedEnd extends Omit<Finished, 'value' | 'message'> {
  readonly artifacts: readonly Artifact[];
}

export interface CollectedParts {
  readonly stdout: string;
  readonly stderr: string;
  readonly value?: Value;
  readonly displays: readonly Display[];
  readonly order?: readonly OutputPart[];
  readonly truncation?: Truncation;
}

export function createCollector(
  logPath: string,
  limits: OutputLimits,
  emit: (event: ExecutionEvent) => void | Promise<void>,
  isListening: () => boolean = () => true,
): Collector {
  // Created with the first byte: most executions leave one stream empty.
  let outputs: { stdout?: FoldedOutput; stderr?: FoldedOutput } = {};
  const decoders: { stdout?: TextDecoder; stderr?: TextDecoder } = {};
  const spool = createSpool(logPath, {
    beginAtBytes: limits.headBytes + limits.tailBytes,
    limitBytes: limits.logBytes,
  });
  const displays = createDisplayTable(limits.displayBytes);
  const order = createOutputOrder(limits);
  let clearNext = false;
  let gapBytes = 0;
  let valueShown: readonly Representation[] = [];
  let value: Value | undefined;
  let end: CollectedEnd | undefined;
  /** While a reader of the events is behind: a promise that resolves when it has caught up. */
  let behind: Promise<void> | undefined;

  function decoderOf(name: 'stdout' | 'stderr'): TextDecoder {
    decoders[name] ??= new TextDecoder();
    return decoders[name];
  }

  function send(event: ExecutionEvent): void | Promise<void> {
    const wait = emit(event);
    if (wait === undefined) return;
    behind = wait;
    const caughtUp = () => {
      if (behind === wait) behind = undefined;
    };
    wait.then(caughtUp, caughtUp);
    return wait;
  }

  function output(name: 'stdout' | 'stderr', body: Buffer): void | Promise<void> {
    if (body.length > MAX_OUTPUT_BYTES) throw new ProtocolViolation(`${name}: ${body.length} bytes in one frame`);
    outputs[name] ??= createFoldedOutput(limits);
    outputs[name].push(body);
    order.print(name, body, outputs[name]);
    const spooled = spool.push(body);
    // Decode only if a reader is listening.
    const text = isListening() ? decoderOf(name).decode(body, { stream: true }) : '';
    const emitted = text === '' ? behind : send({ kind: name, text });
    if (spooled === undefined && emitted === undefined) return;
    return Promise.all([spooled, emitted]).then(() => {});
  }

  function display(frame: Frame): void | Promise<void> {
    const before = displays.count();
    const whole = displays.receive(displayMessage.parse(frame.head), frame.body);
    if (displays.count() > before) order.show(before);
    if (whole === undefined) return;
    const { isValue, ...shown } = whole;
    if (!isValue) return send({ kind: 'display', ...shown });
    valueShown = shown.representations;
  }

  function finish(frame: Frame): void | Promise<void> {
    const { value: found, message, outcome, ...finished } = finishedMessage.parse(frame.head);
    const valueBytes = found?.bytes ?? 0;
    const textBytes = valueBytes + (message?.bytes ?? 0);
    if (textBytes > frame.body.length) throw new ProtocolViolation('value and message: longer than the body');
    const artifacts = parseArtifacts(frame.body.subarray(textBytes));
    const whole =
      message === undefined ? outcome : withMessage(outcome, frame.body.toString('utf8', valueBytes, textBytes));
    end = { ...finished, outcome: withoutColours(whole), artifacts };
    if (found === undefined) return;
    const text = frame.body.toString('utf8', 0, valueBytes);
    value = { text: withoutEscapes(text), truncated: found.truncated, representations: valueShown };
    return send({ kind: 'value', ...value, text });
  }

  function clear(): void {
    clearNext = false;
    outputs = {};
    displays.clear();
    order.clear();
  }

  /**
   * SECURITY: while a reader is behind, the credit of every frame waits, even of a frame that adds no event. Only the
   * last piece of a display is an event: if the other pieces of a large display were paid at once, displays that wait
   * for the reader would fill the memory.
   */
  function receive(frame: Frame): void | Promise<void> {
    return receiveNow(frame) ?? behind;
  }

  function receiveNow(frame: Frame): void | Promise<void> {
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
        return send({ kind: 'clear', wait });
      }
      case 'finished':
        return finish(frame);
      default:
        throw new ProtocolViolation(`event: ${typeOf(frame)} is not known`);
    }
  }

  function truncation(): Truncation | undefined {
    const path = spool.path();
    const found: Truncation = {
      stdoutDroppedBytes: outputs.stdout?.droppedBytes() ?? 0,
      stderrDroppedBytes: outputs.stderr?.droppedBytes() ?? 0,
      stdoutDroppedLines: outputs.stdout?.droppedLines() ?? 0,
      stderrDroppedLines: outputs.stderr?.droppedLines() ?? 0,
      displaysDropped: displays.dropped(),
      logDroppedBytes: spool.droppedBytes() + gapBytes,
      ...(path === undefined ? {} : { logPath: path }),
    };
    const dropped = found.stdoutDroppedBytes + found.stderrDroppedBytes + found.displaysDropped + gapBytes;
    return dropped > 0 ? found : undefined;
  }

  /**
   * SECURITY: a log is counted and removed with the result that names it. A log that no result names (its output was
   * cleared or overwritten, so that nothing counts as dropped) would stay until the session closes, and could fill the
   * host's disk.
   */
  async function close(isDiscarded = false): Promise<void> {
    await spool.close();
    const path = spool.path();
    if (path === undefined || (!isDiscarded && truncation() !== undefined)) return;
    await rm(path, { force: true }).catch(() => {});
  }

  return {
    receive,
    addGap: (bytes) => {
      gapBytes += bytes;
    },
    finished: () => end,
    parts: () => {
      const cut = truncation();
      const parts = order.parts();
      return {
        stdout: outputs.stdout?.text() ?? '',
        stderr: outputs.stderr?.text() ?? '',
        displays: displays.shown(),
        ...(parts === undefined ? {} : { order: parts }),
        ...(value === undefined ? {} : { value }),
        ...(cut === undefined ? {} : { truncation: cut }),
      };
    },
    tail: (chars) => ({ stdout: outputs.stdout?.tail(chars) ?? '', stderr: outputs.stderr?.tail(chars) ?? '' }),
    outputBytes: () => (outputs.stdout?.heldBytes() ?? 0) + (outputs.stderr?.heldBytes() ?? 0),
    close: () => close(),
    discard: () => close(true),
  };
}

function withMessage(outcome: GuestOutcome, message: string): GuestOutcome {
  return outcome.kind === 'raised' ? { ...outcome, message } : outcome;
}

function withoutColours(outcome: GuestOutcome): GuestOutcome {
  if (outcome.kind !== 'raised') return outcome;
  return {
    ...outcome,
    message: withoutEscapes(outcome.message),
    ...(outcome.hint === undefined ? {} : { hint: withoutEscapes(outcome.hint) }),
    traceback: outcome.traceback.map(withoutEscapes),
  };
}

function parseArtifacts(body: Buffer): Artifact[] {
  if (body.length === 0) return [];
  try {
    return artifactList.parse(parseUtf8Json(body)).map((file) => ({ ...file, mediaType: mediaTypeOf(file.path) }));
  } catch (error) {
    throw new HotcellError('guest_misbehaved', 'the guest sent an invalid list of artifacts', {
      cause: error,
    });
  }
}
