import { describe, expect, it } from 'vitest';
import { createOutput, type Output, type OutputStream, routeConsole } from './output.ts';

const HOSTILE = 'a\x1b]52;c;Y3VybA==\x07b\x9b2Jc\u202ed\u200be\u2028f\x1b[31mg\x1b[8mh';

function output(stream: Partial<OutputStream> = {}): { written: () => string; out: Output } {
  let written = '';
  const write = (text: string) => {
    written += text;
    return true;
  };
  return { written: () => written, out: createOutput({ once: () => {}, off: () => {}, ...stream, write }) };
}

describe('what is written', () => {
  it('in a line of Hotcell makes invisible characters visible, at a terminal and elsewhere', async () => {
    for (const stream of [{}, { isTTY: true }]) {
      const { out, written } = output(stream);
      await out.say(`hotcell: ${HOSTILE}`);
      expect(written()).toBe('hotcell: a\\u001b]52;c;Y3VybA==\\u0007b\\u009b2Jc\\u202ed\\u200be\\u2028fg\\u001b[8mh\n');
    }
  });

  it('by a program reaches a terminal as text, and a pipe unchanged', async () => {
    const terminal = output({ isTTY: true });
    await terminal.out.show(HOSTILE);
    const pieces = terminal.out.program();
    for (const piece of HOSTILE) await pieces.push(piece);
    await pieces.end();
    expect(terminal.written()).toBe('ab2Jcdefgh'.repeat(2));
    const pipe = output();
    await pipe.out.show(HOSTILE);
    await pipe.out.program().push(HOSTILE);
    expect(pipe.written()).toBe(HOSTILE.repeat(2));
  });

  it('as JSON is JSON, with every character visible', async () => {
    const { out, written } = output({ isTTY: true });
    await out.json({ [HOSTILE]: HOSTILE });
    expect(JSON.parse(written())).toEqual({ [HOSTILE]: HOSTILE });
    expect(written()).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });
});

it('ends a colour that a program left on, even if the process exits before the program ends', async () => {
  const { out, written } = output({ isTTY: true, hasColors: () => true });
  const before = process.listenerCount('exit');
  const program = out.program();
  await program.push('a\x1b[31mb');
  await program.push('c');
  expect(process.listenerCount('exit')).toBe(before + 1);
  (process.listeners('exit').at(-1) as () => void)();
  expect(written()).toMatch(/bc\x1b\[0m$/);
  await program.end();
  expect(process.listenerCount('exit')).toBe(before);
});

describe('output of libraries', () => {
  it('to the console, or as a warning, is quoted and attributed to them', async () => {
    const { out, written } = output({ isTTY: true });
    {
      using _ = routeConsole(out);
      console.warn(`excluding tool '${HOSTILE}\r\nhotcell: all is well'`);
      console.log('%s', 'l'.repeat(9_000));
      process.emitWarning(HOSTILE);
      await expect.poll(written).toContain('Warning: ');
    }
    expect(written()).toContain('excluding tool');
    for (const line of written().trimEnd().split('\n'))
      expect(line).toMatch(/^hotcell: a library says: "[^\x00-\x1f\x7f-\x9f]{1,2100}"$/);
  });
});
