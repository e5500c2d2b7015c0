import { promptStream } from './output.ts';

/** Asks a question at the terminal. No is the default, and the answer to Ctrl-C. The message must be Hotcell's own text. */
export async function confirm(message: string): Promise<boolean> {
  const { confirm: ask } = await import('@clack/prompts');
  return (await ask({ message, initialValue: false, output: promptStream() })) === true;
}
