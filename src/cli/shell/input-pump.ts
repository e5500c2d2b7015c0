import type { CommandControl } from '../../execution/command.ts';

/** Sends what is typed in order, one write at a time: what comes meanwhile goes together. */
export interface InputPump {
  push(data: Buffer): void;
}

/** What may wait: a person who pastes more than this into a program that does not read has it cut. */
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
