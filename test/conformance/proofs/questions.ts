import { expect } from 'vitest';
import type { Session } from '../../../src/index.ts';
import type { Requirement } from '../context.ts';

const texts = async (session: Session, code: string) => (await session.complete(code)).matches.map(({ text }) => text);

export const questionRequirements: readonly Requirement[] = [
  {
    id: 'complete:namespace',
    tag: 'guest',
    title: 'names, attributes, keys, parameters, modules and files are completed from the live session',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run(
        'class Reactor:\n    def start_up(self, fuel_rods, *, slowly=True): pass\nplant = Reactor()\nplant.output = 7\nparts = {"pump one": 1, "pump two": 2}\nopen("plan.txt", "w").close()',
      );
      expect(await session.complete('x = pla')).toEqual({
        matches: [{ text: 'plant', kind: 'instance' }],
        start: 4,
        end: 7,
      });
      expect(await texts(session, 'plant.')).toEqual(['output', 'start_up']);
      expect(await texts(session, 'parts["pump ')).toEqual(['pump one', 'pump two']);
      expect(await texts(session, 'plant.start_up(fu')).toEqual(['fuel_rods=']);
      expect(await texts(session, 'import jso')).toContain('json');
      expect(await texts(session, 'open("pla')).toEqual(['plan.txt']);
      expect(await texts(session, 'whil')).toEqual(['while']);
      // Counted as JavaScript counts, in the middle of the code.
      const code = '"😀😀"; plant.out + 1';
      expect(await session.complete(code, { cursor: code.indexOf(' +') })).toMatchObject({
        matches: [{ text: 'output' }],
        start: code.indexOf('out'),
        end: code.indexOf(' +'),
      });
    },
  },
  {
    id: 'complete:first',
    tag: 'guest',
    title: 'a session that has run nothing can be asked, and a language without a kernel is refused',
    prove: async ({ fresh }) => {
      const session = await fresh();
      expect(await texts(session, 'prin')).toEqual(['print']);
      await expect(session.complete('x', { language: 'cobol' })).rejects.toMatchObject({ code: 'not_offered' });
      await expect(session.complete('x', { cursor: 2 })).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(session.complete('x', { timeoutMs: 5 })).rejects.toMatchObject({ code: 'invalid_argument' });
    },
  },
  {
    id: 'complete:runs-nothing',
    tag: 'guest',
    title: "no property, __getattr__, __dir__ or metaclass of the user's runs, and nothing is printed",
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run(`ran = []
class Meta(type):
    def __getattribute__(cls, name): ran.append(name); return super().__getattribute__(name)
    def __dir__(cls): ran.append("dir"); return []
class Trap(metaclass=Meta):
    here = 1
    @property
    def prop(self): ran.append("property")
    def __getattr__(self, name): ran.append(name)
    def __getattribute__(self, name): ran.append(name); return object.__getattribute__(self, name)
    def __dir__(self): ran.append("dir"); return []
    def __repr__(self): ran.append("repr"); return "x"
    def __len__(self): ran.append("len"); return 1
    __class__ = property(lambda self: ran.append("class"))
trap = Trap()
ran.clear()`);
      expect(await texts(session, 'trap.')).toEqual(['here', 'prop']);
      expect(await texts(session, 'trap.prop.')).toEqual([]);
      expect(await texts(session, 'Trap.he')).toEqual(['here']);
      expect(await session.inspect('trap')).toMatchObject({ name: 'trap', type: 'Trap' });
      expect((await session.run('ran')).value?.text).toBe('[]');
    },
  },
  {
    id: 'inspect:signature',
    tag: 'guest',
    title: 'a name is explained by its signature and the first lines of its documentation',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run(
        'def mix(acid: float, base, *, slowly=True) -> "Salt":\n    """Mixes two.\n\n    With care.\n    """',
      );
      expect(await session.inspect('mix')).toMatchObject({
        name: 'mix',
        type: 'function',
        signature: '(acid: float, base, *, slowly=True) -> Salt',
        doc: 'Mixes two.\n\nWith care.',
      });
      expect(await session.inspect('y = mix(1, ')).toMatchObject({ name: 'mix' });
      expect((await session.inspect('len'))?.signature).toBe('(obj, /)');
      expect(await session.inspect('nothing_of_that_name')).toBeUndefined();
    },
  },
  {
    id: 'questions:order',
    tag: 'guest',
    title: 'a question waits its turn, or is refused as busy, or is withdrawn; what it prints reaches no execution',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('x_one = 1');
      const running = session.run('import os, time\nwhile not os.path.exists("go"): time.sleep(0.02)\nx_two = 2');
      const waiting = texts(session, 'x_t');
      await expect(session.complete('x_', { busy: 'refuse' })).rejects.toMatchObject({ code: 'session_busy' });
      const withdrawn = session.complete('x_', { signal: AbortSignal.timeout(20) });
      await expect(withdrawn).rejects.toMatchObject({ code: 'cancelled' });
      await session.files.write('go', '');
      expect((await running).outcome).toEqual({ kind: 'ok' });
      expect(await waiting).toEqual(['x_two']);
    },
  },
];
