import type { Writable } from 'node:stream';
import type { Execution } from '../../execution/execute.ts';
import { displayText } from './displays.ts';

/** Shows what an execution prints as it prints it. Waits for a slow reader; stops when there is none any more. */
export async function showLive(execution: Execution, streams: { stdout: Writable; stderr: Writable }): Promise<void> {
  for await (const event of execution) {
    if (event.kind === 'stdout' || event.kind === 'stderr') await written(streams[event.kind], event.text);
    else if (event.kind === 'display') await written(streams.stdout, displayText(event));
  }
}

function written(stream: Writable, text: string): Promise<void> | undefined {
  if (text === '' || stream.destroyed || stream.write(text)) return undefined;
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done);
      resolve();
    };
    stream.once('drain', done).once('close', done);
  });
}
