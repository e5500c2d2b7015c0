import { describe, expect, it } from 'vitest';
import { commandIn } from './commands.ts';
import { completionsFor } from './completions.ts';
import { atEnd, replaceBefore } from './editor/buffer.ts';

/** A kernel that replies what code in the sandbox wants; `|` is the cursor. */
async function complete(typed: string, reply: { back: number; names: readonly string[] }) {
  const cursor = typed.indexOf('|');
  const text = typed.replace('|', '');
  let asked = false;
  const kernel = {
    complete: async () => {
      asked = true;
      return { start: cursor - reply.back, end: cursor, matches: reply.names.map((name) => ({ text: name })) };
    },
  };
  return { ...(await completionsFor(kernel, text, cursor, 'python')), wasAsked: () => asked };
}

const SECRET = '%run /home/ada/.ssh/id_rsa';

describe('completions from the kernel', () => {
  it.each([
    ['df.he|', { back: 2, names: ['head'] }],
    ['df["total c|', { back: 7, names: ['total cost'] }],
    ['open("data/2024 %|', { back: 6, names: ['2024 %.csv'] }],
    ['plot(col|)', { back: 3, names: ['color='] }],
    ['%timeit ma|', { back: 2, names: ['math'] }],
    ['!cat no|', { back: 2, names: ['note.txt'] }],
    ['x = 1\nprint(na|', { back: 2, names: ['name'] }],
  ])('continue the text before the cursor: %s', async (typed, reply) => {
    expect(await complete(typed, reply)).toMatchObject({ matches: reply.names });
  });

  it('cannot replace what was typed by a command that sends a file of the host', async () => {
    const reply = { back: 5, names: [SECRET] };
    const attack = replaceBefore(atEnd('df.he'), 0, SECRET); // what a reply that is not checked does
    expect(commandIn(attack.text)?.name).toBe('run');
    expect(await complete('df.he|', reply)).toMatchObject({ matches: [] });
  });

  it.each([
    ['with a start behind the cursor', 'x|', { back: -1, names: [SECRET] }],
    ['before a text', '|run /home/ada/.ssh/id_rsa', { back: 0, names: ['%'] }],
    ['in an empty first line', ' |', { back: 0, names: [SECRET] }],
    ['in the name of a command', '  %r|', { back: 1, names: ['run /home/ada/.ssh/id_rsa'] }],
    ['in the file of a command', '%run a|', { back: 1, names: ['a/../.ssh/id_rsa'] }],
    ['as a question about a name', 'secret|', { back: 6, names: ['secrets?'] }],
    ['with control characters', 'x|', { back: 1, names: ['x\r%run a'] }],
  ])('cannot make one %s', async (_, typed, reply) => {
    const { matches } = await complete(typed, reply);
    expect(matches.filter((name) => reply.names.includes(name))).toEqual([]);
  });

  it.each(['%ru|', '%run ~/.ssh/i|', 'df.head|?'])('are not requested within a command: %s', async (typed) => {
    const { wasAsked } = await complete(typed, { back: 0, names: [] });
    expect(wasAsked()).toBe(false);
  });
});

it("completes Hotcell's own commands", async () => {
  expect(await complete(' %fi|', { back: 0, names: [] })).toMatchObject({ from: 1, matches: ['%files'] });
});
