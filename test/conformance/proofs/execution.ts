import { expect } from 'vitest';
import { type Requirement, stdoutOf } from '../context.ts';

const NEEDS_PACKAGES = { bare: 'needs what the environment has; proved on every real driver' };

export const executionRequirements: readonly Requirement[] = [
  {
    id: 'execute:value',
    tag: 'guest',
    title: 'the last expression is the value, nothing else is',
    prove: async ({ session }) => {
      expect((await session.run('1 + 1')).value).toEqual({ text: '2', truncated: false, representations: [] });
      expect((await session.run('x = 5')).value).toBeUndefined();
      expect((await session.run('x;')).value).toBeUndefined();
      expect((await session.run('"a" * 200_000')).value?.truncated).toBe(true);
    },
  },
  {
    id: 'execute:state',
    tag: 'guest',
    title: 'variables, functions, classes and imports live on',
    prove: async ({ session }) => {
      await session.run('import math\nclass A:\n    n = 3\ndef f(x): return x * A.n\ny = 7');
      expect((await session.run('f(y) + math.floor(0.5)')).value?.text).toBe('21');
    },
  },
  {
    id: 'execute:output',
    tag: 'guest',
    title: 'stdout and stderr come apart, in the order in which Python wrote them',
    prove: async ({ session }) => {
      const order: string[] = [];
      const run = session.run('import sys\nfor i in range(5):\n    print("o", i)\n    print("e", i, file=sys.stderr)');
      for await (const event of run) if (event.kind === 'stdout' || event.kind === 'stderr') order.push(event.text);
      expect(order.join('')).toBe('o 0\ne 0\no 1\ne 1\no 2\ne 2\no 3\ne 3\no 4\ne 4\n');
      const result = await run;
      expect(result.stdout).toBe('o 0\no 1\no 2\no 3\no 4\n');
      expect(result.stderr).toBe('e 0\ne 1\ne 2\ne 3\ne 4\n');
    },
  },
  {
    id: 'execute:children-order',
    tag: 'guest',
    title: 'what one program writes to stderr and another then to stdout comes in that order',
    prove: async ({ session }) => {
      for (const language of ['python', 'bash']) {
        const code = language === 'bash' ? 'sh -c "echo a >&2"; echo b' : '!echo a >&2; echo b';
        for (let times = 0; times < 20; times += 1) {
          const order: string[] = [];
          for await (const event of session.run(code, { language })) {
            if (event.kind === 'stdout' || event.kind === 'stderr') order.push(event.text);
          }
          expect(order.join('')).toBe('a\nb\n');
        }
      }
    },
  },
  {
    id: 'execute:children-write',
    tag: 'guest',
    title: 'what children and C code write arrives in its place',
    prove: async ({ session }) => {
      const out = await stdoutOf(
        session,
        'import os, subprocess\nprint("a")\nos.system("echo b")\nsubprocess.run(["echo", "c"])\nos.write(1, b"d\\n")\nprint("e")',
      );
      expect(out).toBe('a\nb\nc\nd\ne');
    },
  },
  {
    id: 'execute:raised',
    tag: 'guest',
    title: 'an exception is an outcome whose traceback shows the lines of the user and none of ours',
    prove: async ({ session }) => {
      const { outcome, state } = await session.run('def f():\n    return 1 / 0\nf()');
      expect(outcome).toMatchObject({ kind: 'raised', name: 'ZeroDivisionError', message: 'division by zero' });
      if (outcome.kind !== 'raised') return;
      const text = outcome.traceback.join('\n');
      expect(text).toContain('return 1 / 0');
      expect(text).not.toContain('hotcell_guest');
      expect(state).toBe('kept');
      const syntax = await session.run('x = (');
      expect(syntax.outcome).toMatchObject({ kind: 'raised', name: 'SyntaxError' });
    },
  },
  {
    id: 'execute:exit',
    tag: 'guest',
    title: 'sys.exit(3) is the outcome exited 3 and keeps the variables; os._exit loses them',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('x = 1');
      expect((await session.run('import sys; sys.exit(3)')).outcome).toEqual({ kind: 'exited', exitCode: 3 });
      expect((await session.run('x')).value?.text).toBe('1');
      const died = await session.run('import os; os._exit(4)');
      expect(died.outcome).toEqual({ kind: 'exited', exitCode: 4 });
      expect(died.state).toBe('lost');
      expect((await session.run('x')).outcome).toMatchObject({ kind: 'raised', name: 'NameError' });
    },
  },
  {
    id: 'execute:environment',
    tag: 'guest',
    title: 'environment variables of an execution hold for it and its children alone, in Python and in a shell',
    prove: async ({ session }) => {
      const code = 'import os, subprocess\nprint(os.environ.get("A"), subprocess.getoutput("echo [$A$PATH_IS]"))';
      const environment = { A: "it's 1\nline", PATH_IS: 'x' };
      await session.run('import os\nos.environ["PATH_IS"] = "kept"');
      expect((await session.run(code, { environment })).stdout).toBe("it's 1\nline [it's 1 linex]\n");
      expect((await session.run(code)).stdout).toBe('None [kept]\n');
      const failed = await session.run('1 / 0', { environment });
      expect(failed.outcome.kind).toBe('raised');
      expect((await session.run('os.environ.get("A")')).value).toBeUndefined();
      for (const [name, value] of [
        ['1A', 'x'],
        ['A=B', 'x'],
        ['A', 'a\0b'],
        ['A', 'x'.repeat(40_000)],
      ] as const)
        await expect(session.run('1', { environment: { [name]: value } })).rejects.toMatchObject({
          code: 'invalid_argument',
        });
    },
  },
  {
    id: 'execute:long-message',
    tag: 'guest',
    title: 'a message of an exception comes whole up to 64 kB, and a subclass of SystemExit keeps its name',
    prove: async ({ session }) => {
      const long = await session.run('raise ValueError("é" * 30_000 + "end")');
      expect(long.outcome).toMatchObject({ kind: 'raised', name: 'ValueError', message: `${'é'.repeat(30_000)}end` });
      const longer = await session.run('raise ValueError("x" * 100_000)');
      expect(longer.outcome).toMatchObject({ kind: 'raised', message: 'x'.repeat(65_536) });
      for (const [code, message] of [
        ['"é".repeat(30_000) + "end"', `${'é'.repeat(30_000)}end`],
        ['"é".repeat(100_000)', 'é'.repeat(32_768)],
        ['"short"', 'short'],
      ] as const) {
        const thrown = await session.run(`throw new RangeError(${code})`, { language: 'javascript' });
        expect(thrown.outcome).toMatchObject({ kind: 'raised', name: 'RangeError', message });
      }
      const shown = await session.run('raise ValueError("short")');
      expect(shown.outcome).toMatchObject({ message: 'short' });
      const left = await session.run('class Done(SystemExit): pass\nraise Done(3)');
      expect(left.outcome).toEqual({ kind: 'exited', exitCode: 3, name: 'Done' });
      expect((await session.run('raise SystemExit(3)')).outcome).toEqual({ kind: 'exited', exitCode: 3 });
    },
  },
  {
    id: 'execute:input',
    tag: 'guest',
    title: 'input() and getpass() raise an EOFError that says what to do',
    prove: async ({ session }) => {
      for (const code of ['input("name? ")', 'from getpass import getpass\ngetpass("secret? ")']) {
        const { outcome, stderr } = await session.run(code);
        expect(outcome).toMatchObject({ kind: 'raised', name: 'EOFError' });
        expect(outcome.kind === 'raised' && outcome.message).toMatch(/sandbox/);
        expect(outcome.kind === 'raised' && outcome.traceback.join('\n')).not.toContain('hotcell_guest');
        expect(stderr).toBe('');
      }
    },
  },
  {
    id: 'execute:main',
    tag: 'guest',
    title: '__name__ is __main__, and classes defined there can be pickled',
    prove: async ({ session }) => {
      const code = 'import pickle\nclass P:\n    pass\nprint(__name__, type(pickle.loads(pickle.dumps(P()))).__name__)';
      expect(await stdoutOf(session, code)).toBe('__main__ P');
    },
  },
  {
    id: 'execute:await',
    tag: 'guest',
    title: 'top-level await, asyncio.run and threads work',
    prove: async ({ session }) => {
      expect(
        await stdoutOf(
          session,
          'import asyncio\nasync def g():\n    await asyncio.sleep(0.01)\n    return 5\nprint(await g())',
        ),
      ).toBe('5');
      expect(await stdoutOf(session, 'print(asyncio.run(g()))')).toBe('5');
      expect(
        await stdoutOf(
          session,
          'import threading\nt = threading.Thread(target=lambda: print("t"))\nt.start(); t.join()',
        ),
      ).toBe('t');
    },
  },
  {
    id: 'execute:magics',
    tag: 'guest',
    title: 'magics and !commands work, with the output of a command in its own streams',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const result = await session.run('!echo out; echo err >&2');
      expect([result.stdout, result.stderr]).toEqual(['out\n', 'err\n']);
      expect((await session.run('names = !echo one two\nnames')).value?.text).toBe("['one two']");
      expect((await session.run('%timeit -n1 -r1 1+1')).outcome.kind).toBe('ok');
      expect((await session.run('%matplotlib inline')).outcome.kind).toBe('ok');
    },
  },
  {
    id: 'execute:multiprocessing',
    tag: 'driver',
    title: 'multiprocessing works by fork and by spawn with functions of the session',
    prove: async ({ session }) => {
      await session.run('def square(x):\n    return x * x');
      const pool = (method: string) =>
        `import multiprocessing\nwith multiprocessing.get_context("${method}").Pool(2) as p:\n    print(p.map(square, [1, 2, 3]))`;
      expect(await stdoutOf(session, pool('fork'))).toBe('[1, 4, 9]');
      expect(await stdoutOf(session, pool('spawn'))).toBe('[1, 4, 9]');
    },
  },
  {
    id: 'execute:figures',
    tag: 'guest',
    title: 'figures come back as PNG, at show() and when left open, and never twice',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const shown = await session.run(
        'import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()\nplt.plot([2, 1]);',
      );
      expect(shown.outcome).toEqual({ kind: 'ok' });
      expect(shown.displays.map(({ representations }) => representations.map(({ mediaType }) => mediaType))).toEqual([
        ['text/plain', 'image/png'],
        ['text/plain', 'image/png'],
      ]);
      expect(shown.displays[0]?.representations[1]?.data.subarray(1, 4).toString()).toBe('PNG');
      expect(shown.stderr).toBe('');
      expect((await session.run('1')).displays).toEqual([]);
    },
  },
  {
    id: 'execute:robust-streams',
    tag: 'guest',
    title: 'closed descriptors and a replaced sys.stdout do not outlive the execution',
    prove: async ({ session }) => {
      await session.run('import os, sys, io\nsys.stdout = io.StringIO()\nos.close(0); os.close(1); os.close(2)');
      expect(await stdoutOf(session, 'print("back")')).toBe('back');
      await session.run('os.dup2(os.open("/dev/null", os.O_WRONLY), 1)');
      expect(await stdoutOf(session, 'print("again")')).toBe('again');
    },
  },
  {
    id: 'execute:forged-frames',
    tag: 'guest',
    title: 'frames forged on the private socket give a clear end, and the next execution works',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const forged = await session.run('import os\nos.write(3, b"garbage" * 100)\nimport time; time.sleep(5)', {
        timeoutMs: 20_000,
      });
      expect(forged.outcome.kind).toBe('kernel-died');
      const lie = `import struct, json, os, time
head = json.dumps({"type": "finished", "outcome": {"kind": "ok", "x": "y" * 100}, "cpuMs": 1, "peakMemoryBytes": 1}).encode()
os.write(3, struct.pack(">2sBBIIIII", b"HC", 1, 0, len(head), 0, 0, 0, 0) + head)
time.sleep(0.2)`;
      expect((await session.run(lie)).outcome.kind).toBe('ok');
      await session.run('0', { timeoutMs: 10_000 });
      expect((await session.run('40 + 2', { timeoutMs: 10_000 })).value?.text).toBe('42');
    },
  },
  {
    id: 'execute:result',
    tag: 'guest',
    title: 'a result carries times, memory, isolation and what was made',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const result = await session.run(
        'import os\nos.makedirs("a/b", exist_ok=True)\nopen("a/b/x.csv", "w").write("1,2")\nopen("y.png", "wb").write(b"png")\nimport time\nbegan = time.process_time()\nwhile time.process_time() - began < 0.05: pass',
      );
      expect(result.artifacts).toEqual([
        { path: 'a/b/x.csv', sizeBytes: 3, mediaType: 'text/csv', change: 'created' },
        { path: 'y.png', sizeBytes: 3, mediaType: 'image/png', change: 'created' },
      ]);
      expect(result.durationMs).toBeGreaterThan(5);
      expect(result.cpuMs).toBeGreaterThanOrEqual(40); // a clock of gVisor ticks every 10 ms
      expect(result.peakMemoryBytes).toBeGreaterThan(1_000_000);
      expect(result).toMatchObject({ state: 'kept', files: 'kept', artifactsOmitted: 0 });
      expect(result.isolation.limits.memory.by).not.toBe('');
      const failed = await session.run('open("y.png", "ab").write(b"more")\nopen("z", "w")\n1 / 0');
      expect(failed.artifacts.map(({ path, change }) => [path, change])).toEqual([
        ['y.png', 'modified'],
        ['z', 'created'],
      ]);
    },
  },
  {
    id: 'execute:flood',
    tag: 'guest',
    title: 'a flood of output is cut to head and tail, the rest is in the log, and the program is not blocked',
    prove: async ({ session }) => {
      const result = await session.run('for i in range(120_000):\n    print(i, "x" * 40)', { timeoutMs: 50_000 });
      expect(result.outcome).toEqual({ kind: 'ok' });
      expect(result.stdout.startsWith('0 xxx')).toBe(true);
      expect(result.stdout).toContain('119999 xxx');
      expect(result.stdout.length).toBeLessThan(140_000);
      expect(result.truncation?.stdoutDroppedBytes).toBeGreaterThan(1_000_000);
      const { readFile } = await import('node:fs/promises');
      const log = await readFile(result.truncation?.logPath ?? '', 'utf8');
      expect(log.split('\n').length).toBe(120_001);
    },
  },
  {
    id: 'execute:odd-bytes',
    tag: 'guest',
    title: 'control characters, invalid UTF-8, lone surrogates and one long line arrive bounded and readable',
    prove: async ({ session }) => {
      const result = await session.run(
        'import os\nos.write(1, b"\\xff\\xfe\\x00\\x1b[31m")\nprint("\\ud800")\nprint("é😀")',
      );
      expect(result.stdout).toContain('é😀');
      expect(result.stdout).toContain('\\ud800');
      const long = await session.run('import os\nfor _ in range(200): os.write(1, b"a" * 65536)');
      expect(long.stdout.length).toBeLessThan(140_000);
    },
  },
  {
    id: 'execute:randomness',
    tag: 'driver',
    title: 'random, numpy, secrets, uuid and OpenSSL differ between sessions and after a reset',
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      const code =
        'import random, secrets, uuid, ssl, tempfile, numpy\nprint(random.random(), numpy.random.rand(), secrets.token_hex(4), uuid.uuid4(), uuid.uuid1(), ssl.RAND_bytes(8).hex(), tempfile.mktemp())';
      const sessions = [
        await fresh({ preloads: ['numpy', 'ssl', 'tempfile'] }),
        await fresh({ preloads: ['numpy', 'ssl', 'tempfile'] }),
      ];
      const draws: string[][] = [];
      for (const session of sessions) draws.push((await stdoutOf(session, code)).split(' '));
      await sessions[0]?.reset();
      draws.push((await stdoutOf(sessions[0]!, code)).split(' '));
      for (let column = 0; column < 7; column += 1) {
        expect(new Set(draws.map((draw) => draw[column])).size, `column ${column}`).toBe(3);
      }
    },
  },
];
