import { expect } from 'vitest';
import type { Requirement } from '../context.ts';

/** Objects that do their worst when somebody looks at them. Each is one variable; `kept` must live on after all of them. */
const HOSTILE: Readonly<Record<string, string>> = {
  loops: 'def __repr__(self):\n        while True: pass',
  loops_in_c: 'def __repr__(self): return str(sum(__import__("itertools").repeat(0)))',
  swallows:
    'def __repr__(self):\n        while True:\n            try:\n                while True: pass\n            except BaseException: pass',
  blocks_signals:
    'def __repr__(self):\n        import signal\n        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n        signal.setitimer(signal.ITIMER_REAL, 0)\n        signal.signal(signal.SIGALRM, signal.SIG_IGN)\n        while True: pass',
  raises: 'def __repr__(self): raise ValueError("no")',
  recurses: 'def __repr__(self): return repr(self)',
  exits: 'def __repr__(self): raise SystemExit(3)',
  dies: 'def __repr__(self): __import__("os")._exit(3)',
  kills: 'def __repr__(self):\n        import os, signal\n        os.killpg(0, signal.SIGKILL)',
  gigabyte: 'def __repr__(self): return "x" * 1_000_000_000',
  no_string: 'def __repr__(self): return 7',
  forks: 'def __repr__(self):\n        __import__("os").fork()\n        return "forked"',
  prints:
    'def __repr__(self):\n        import os, sys\n        print("LEAK"); print("LEAK", file=sys.stderr); os.system("echo LEAK")\n        return "printed"',
  deletes: 'def __repr__(self):\n        globals().clear()\n        return "deleted"',
  forges:
    'def __repr__(self):\n        import os\n        for fd in range(3, 20):\n            try: os.write(fd, b"garbage" * 100)\n            except OSError: pass\n        return "forged"',
  string:
    'def __repr__(self):\n        class S(str):\n            def __getitem__(self, k): raise SystemExit\n            def __len__(self): return 1 << 62\n        return S("sly")',
  long_length: 'def __len__(self): return (1 << 63) - 1',
  lies: '__class__ = property(lambda self: 1 / 0)\n    def __getattribute__(self, name): return globals().clear()\n    def __sizeof__(self): return globals().clear()',
  shape: 'shape = property(lambda self: ("x", None))\n    nbytes = "many"',
};

export const hostileVariableRequirements: readonly Requirement[] = [
  {
    id: 'variables:hostile',
    tag: 'guest',
    title: 'an object that loops, raises, dies, forks, prints, returns a gigabyte or tampers costs the session nothing',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const classes = Object.entries(HOSTILE).map(
        ([name, body]) => `class C_${name}:\n    ${body}\n${name} = C_${name}()`,
      );
      const made = await session.run(`import os, itertools\nkept = 17\nme = os.getpid()\n${classes.join('\n')}`);
      expect(made.outcome).toEqual({ kind: 'ok' });
      const looks: { tookMs: number; longest: number }[] = [];
      const list = async () => {
        const begin = performance.now();
        const { variables } = await session.variables.list({ timeoutMs: 5_000 });
        const longest = Math.max(...variables.map(({ summary }) => summary.length));
        looks.push({ tookMs: performance.now() - begin, longest });
        return Object.fromEntries(variables.map(({ name, summary }) => [name, summary]));
      };
      // Each has a quarter of a second, which on a busy machine may be too little for a program that one of them starts. The next look is as good.
      await expect.poll(list, { timeout: 60_000 }).toMatchObject({
        kept: '17',
        loops: '(took too long)',
        loops_in_c: '(took too long)',
        swallows: '(took too long)',
        blocks_signals: '(took too long)',
        raises: '(its text could not be made: ValueError)',
        recurses: '(its text could not be made: RecursionError)',
        exits: '(its text could not be made: SystemExit)',
        dies: '(ended the process that looked at it)',
        kills: '(ended the process that looked at it)',
        gigabyte: expect.any(String),
        no_string: '(its text could not be made: TypeError)',
        forks: 'forked',
        prints: 'printed',
        deletes: 'deleted',
        string: 'sly',
      });
      for (const { tookMs, longest } of looks) {
        expect(tookMs).toBeLessThan(10_000);
        expect(longest).toBeLessThan(300);
      }
      // One by one, with the default limit of time, and as parts of others.
      await session.run(`box = [${Object.keys(HOSTILE).slice(4).join(', ')}]`);
      for (const name of Object.keys(HOSTILE)) await session.variables.get(name);
      const boxed = await session.variables.get('box', { timeoutMs: 5_000 });
      expect(boxed.page).toMatchObject({ kind: 'items', total: Object.keys(HOSTILE).length - 4 });
      // What was killed may take a moment to die on a busy machine.
      const after = await session.run(`import time
def left():
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try: state, _, _, of_session = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[:4]
        except OSError: continue
        found += int(of_session) == os.getsid(0) and state not in "ZX"
    return found
end = time.monotonic() + 20
while left() > 1 and time.monotonic() < end: time.sleep(0.02)
print(kept, me == os.getpid(), left())`);
      expect(after).toMatchObject({ stdout: '17 True 1\n', stderr: '', state: 'kept' });
      expect(after.restarted).toBeUndefined();
      expect(await session.backgroundOutput()).not.toContain('LEAK');
    },
  },
  {
    id: 'variables:hostile-classes',
    tag: 'guest',
    title: "subclasses of builtins and metaclasses are looked at without one line of the user's code in the kernel",
    prove: async ({ fresh }) => {
      const session = await fresh();
      const made = await session.run(`import os
ran = []
def trap(*args, **options):
    ran.append(os.getpid())
    raise SystemExit
hooks = {name: trap for name in ("__len__", "__iter__", "__getitem__", "__repr__", "__str__", "__eq__", "__hash__", "__bool__", "__sizeof__",
    "__contains__", "keys", "items", "values", "__getattribute__", "__dir__", "__format__", "__reduce__", "__index__")}
class Meta(type):
    for name in ("__getattribute__", "__repr__", "__instancecheck__", "__subclasscheck__", "__eq__", "__hash__", "mro_entries"): locals()[name] = trap
Meta.__hash__ = type.__hash__; Meta.__eq__ = type.__eq__
make = lambda base, *args: type.__call__(type.__new__(Meta, "Sly", (base,), {**hooks, "__slots__": ()} if base in (str, int, bytes, tuple) else dict(hooks)), *args)
alist, adict, aset, atuple, atext, araw = make(list, [1, 2]), make(dict, {1: 2}), make(set, {1}), make(tuple, (1, 2)), make(str, "text"), make(bytes, b"raw")
plain = type.__new__(Meta, "Plain", (), dict(hooks))
ran.clear()
mine = os.getpid()`);
      expect(made.outcome).toEqual({ kind: 'ok' });
      const { variables } = await session.variables.list();
      const lengths = Object.fromEntries(variables.map(({ name, length }) => [name, length]));
      expect(lengths).toMatchObject({ alist: 2, adict: 1, aset: 1, atuple: 2, atext: 4, araw: 3 });
      expect((await session.variables.get('alist')).page).toMatchObject({ items: [{ text: '1' }, { text: '2' }] });
      expect((await session.variables.get('adict')).page).toMatchObject({ entries: [{ key: { text: '1' } }] });
      expect((await session.variables.get('atext')).page).toMatchObject({ text: 'text' });
      expect((await session.variables.get('araw')).page).toMatchObject({ data: Buffer.from('raw') });
      await session.complete('alist.');
      await session.inspect('plain');
      expect((await session.run('ran')).value?.text).toBe('[]');
    },
  },
  {
    id: 'questions:stuck',
    tag: 'guest',
    title:
      'an expression that loops is stopped and keeps the state; one that cannot be stopped is answered within five seconds',
    prove: async ({ impatient }) => {
      const session = await impatient();
      await session.run('import itertools, os\nkept = 1');
      await expect(session.variables.get('[0 for _ in iter(int, 1)]', { timeoutMs: 300 })).rejects.toMatchObject({
        code: 'answer_timeout',
      });
      const withdrawn = session.variables.get('[0 for _ in iter(int, 1)]', {
        timeoutMs: 20_000,
        signal: AbortSignal.timeout(300),
      });
      await expect(withdrawn).rejects.toMatchObject({ code: 'cancelled' });
      expect((await session.run('kept')).value?.text).toBe('1');
      const begin = performance.now();
      await expect(session.variables.get('sum(itertools.repeat(0))')).rejects.toMatchObject({ code: 'kernel_lost' });
      expect(performance.now() - begin).toBeLessThan(5_000);
      const after = await session.run('"kept" in globals()');
      expect(after.value?.text).toBe('False');
      expect(after.restarted).toMatch(/did not answer \(variables\.get\)/);
      await expect(session.variables.get('__import__("os")._exit(1)')).rejects.toMatchObject({ code: 'kernel_lost' });
      expect((await session.run('1 + 1')).value?.text).toBe('2');
    },
  },
  {
    id: 'questions:output',
    tag: 'guest',
    title: 'what an expression prints, forks, closes or replaces reaches no execution',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('import os, sys, io\nkept = 1');
      await session.variables.get('print("A", end="") or print("B", file=sys.stderr, end="") or os.system("echo C")');
      await session.variables.get('os.fork()');
      await session.variables.get('setattr(sys, "stdout", io.StringIO()) or os.close(1) or os.close(0)');
      const after = await session.run('print("D")');
      expect([after.stdout, after.stderr, after.outcome]).toEqual(['D\n', '', { kind: 'ok' }]);
      expect((await session.run('kept')).value?.text).toBe('1');
      expect(await session.backgroundOutput()).toMatch(/^[ABC\n]*$/);
    },
  },
  {
    id: 'questions:forged',
    tag: 'guest',
    title: 'answers that the code forges are refused by name or are lies about itself, and the session goes on',
    prove: async ({ fresh }) => {
      const bodies = [
        'b"no json"',
        'b"[" * 500_000',
        'b"[" * 5_000 + b"]" * 5_000',
        'json.dumps({"total": 1, "variables": [{"name": "x" * 900_000, "type": "t", "summary": "s"}]}).encode()',
        'json.dumps({"total": -1, "variables": []}).encode()',
        'json.dumps({"total": 1e999, "variables": []}).encode()',
        'json.dumps({"total": 5, "variables": [{}] * 2000}).encode()',
      ];
      for (const body of bodies) {
        const session = await fresh();
        await session.run(`import os, struct, json, threading, time
body = ${body}
def forge():
    for number in (1, 0, 2, 3, 2**40):
        head = json.dumps({"type": "answer", "question": number, "ok": True, "execution": ""}).encode()
        data = struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), len(body), 0, 0, 0) + head + body
        while data: data = data[os.write(3, data):]
class Slow:
    def __init__(self):
        forger = threading.Thread(target=forge)
        forger.start()
        forger.join()
`);
        const answer = session.variables
          .get('[Slow(), time.sleep(0.25)] and None')
          .catch((error: { code: string }) => error);
        expect(await answer, body).toMatchObject({ code: expect.stringMatching(/^(guest_misbehaved|kernel_lost)$/) });
        expect((await session.run('6 * 7')).value?.text).toBe('42');
        await session.close();
      }
    },
  },
];
