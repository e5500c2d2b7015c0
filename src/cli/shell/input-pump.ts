import type { CommandControl } from '../../execution/command.ts';

/** Sends typed input in order, one write at a time. Input that arrives during a write is sent together. */
export interface InputPump {
  push(data: Buffer): void;
}

/** Maximum of queued input. Input that is pasted beyond it, into a program that does not read, is dropped. */
const MOST_WAITING_BYTES = 1_048_576;

export function createInputPump({ write }: Pick<CommandControl, 'write'>, failed: (error: unknown) => void): InputPump {
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let isWriting = false;

  async function drain(): Promise<void> {
    isWriting = true;
    try {
      while (waiting.length > 0) {
        const data = Buffer.concat(waiting);
        waiting = [];
        waitingBytes = 0;
        await write(data);
      }
    } catch (error) {
      failed(error);
    } finally {
      isWriting = false;
    }
  }

  return {
    push(data) {
      if (data.length === 0 || waitingBytes + data.length > MOST_WAITING_BYTES) return;
      waiting.push(data);
      waitingBytes += data.length;
      if (!isWriting) void drain();
    },
  };
}
