import { expect } from 'vitest';
import { type Requirement, stdoutOf } from '../context.ts';

const NEEDS_PACKAGES = { bare: 'needs what the environment has; proved on every real driver' };

/** Python programs written for a terminal or for Jupyter run as they do there. */
export const programRequirements: readonly Requirement[] = [
  {
    id: 'program:stdin',
    tag: 'guest',
    title: 'input() reads the sys.stdin that a program put in place, and pdb reads its commands from there',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const sum = 'print(int(input()) + int(input()))';
      expect(await stdoutOf(session, `import io, sys\nsys.stdin = io.StringIO("7\\n8\\n")\n${sum}`)).toBe('15');
      expect((await session.run('input()')).outcome).toMatchObject({ name: 'EOFError', message: /EOF when reading/ });
      await session.files.write('in.txt', '1\n2\n');
      expect(await stdoutOf(session, `sys.stdin = open("in.txt")\n${sum}\nsys.stdin = sys.__stdin__`)).toBe('3');
      const patched = `from unittest import mock\nwith mock.patch("sys.stdin", io.StringIO("20\\n22\\n")): ${sum}`;
      expect(await stdoutOf(session, patched)).toBe('42');
      const debugged =
        'import pdb\ndef f(x):\n    y = x + 1\n    return y\nwith mock.patch("sys.stdin", io.StringIO("p x * 100\\nc\\n")):\n    pdb.Pdb(nosigint=True, readrc=False).runcall(f, 5)';
      expect(await stdoutOf(session, debugged)).toContain('500');
      expect((await session.run('input("name? ")')).outcome).toMatchObject({ name: 'EOFError', message: /sandbox/ });
    },
  },
  {
    id: 'program:pasted',
    tag: 'guest',
    title: 'code that is indented as a whole runs, and so does code with the prompts of Python or IPython',
    prove: async ({ session }) => {
      for (const code of [
        '    def f():\n        return 6\n    f() * 7',
        '\n\t>>> def f():\n\t...     return 6\n\t...\n\t>>> f() * 7',
        '>>> def f():\n...     return 6\n...\n>>> f() * 7',
        'In [1]: def f():\n   ...:     return 6\n   ...: \n\nIn [2]: f() * 7',
      ]) {
        expect((await session.run(code)).value?.text, code).toBe('42');
      }
      const failed = await session.run('\n    x = 1\n    1 / 0');
      expect(failed.outcome.kind === 'raised' && failed.outcome.traceback.join('\n')).toMatch(
        /line 3[\s\S]*> 3 \| 1 \/ 0/,
      );
      expect((await session.run('    x = = 1')).outcome).toMatchObject({
        name: 'SyntaxError',
        message: /invalid syntax/,
      });
      expect((await session.run('    # only a comment\ndef f():\n    return 3\nf()')).value?.text).toBe('3');
    },
  },
  {
    id: 'program:fork-exit',
    tag: 'guest',
    title: 'a forked child ends with the code of its sys.exit(), with 1 after an exception, and with 0 at its end',
    prove: async ({ session }) => {
      const ends = {
        'sys.exit(0)': 0,
        'sys.exit(7)': 7,
        'sys.exit()': 0,
        'sys.exit("no")': 1,
        '1 / 0': 1,
        'os._exit(9)': 9,
        pass: 0,
      };
      for (const [end, code] of Object.entries(ends)) {
        const forked = `import os, sys\npid = os.fork()\nif pid == 0:\n    ${end}\nelse:\n    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
        expect(await stdoutOf(session, forked), end).toBe(String(code));
      }
    },
  },
  {
    id: 'program:children',
    tag: 'guest',
    title:
      'a Python child sees PYTHONPATH as the program sets it, UTF-8 mode is on, and ports and system programs have names',
    prove: async ({ session, target }) => {
      const code = `
import os, subprocess, sys
os.makedirs("extra", exist_ok=True)
open("extra/beside.py", "w").write("x = 42")
os.environ["PYTHONPATH"] = os.path.abspath("extra")
flags = subprocess._args_from_interpreter_flags()
print(flags, sys.flags.utf8_mode)
print(subprocess.check_output([sys.executable, *flags, "-c", "import beside; print(beside.x)"], text=True).strip())`;
      const [flags, child] = (await stdoutOf(session, code)).split('\n');
      expect(flags).not.toContain('-I');
      // Without a driver the interpreter is started as the test chooses.
      if (target.bare !== true) expect(flags).toMatch(/ 1$/);
      expect(child).toBe('42');
    },
  },
  {
    id: 'program:ports',
    tag: 'guest',
    title: 'ports have the names that Debian gives them',
    exempt: NEEDS_PACKAGES,
    prove: async ({ session }) => {
      const code =
        'import socket\nprint(*(socket.getservbyname(*name) for name in [("ssh",), ("smtp",), ("domain", "tcp"), ("https",)]))';
      expect(await stdoutOf(session, code)).toBe('22 25 53 443');
    },
  },
  {
    id: 'program:no-user',
    tag: 'guest',
    title: 'getpass() says at once that there is no user to ask, and reads a stdin that the program put there',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const asked = await session.run('import getpass\ngetpass.getpass()');
      expect(asked.outcome).toMatchObject({ name: 'EOFError', message: /getpass\(\) does not work in a sandbox/ });
      expect(asked.stderr).toBe('');
      const given = 'import io, sys\nsys.stdin = io.StringIO("secret\\n")\nprint(getpass.getpass())';
      expect(await stdoutOf(session, given)).toBe('secret');
    },
  },
  {
    id: 'program:get-ipython',
    tag: 'guest',
    title: 'get_ipython() of IPython finds the shell in a new session, and only a program that asks makes one',
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      for (const code of [
        'from IPython import get_ipython\nget_ipython().run_line_magic("matplotlib", "inline")',
        'from IPython.core.magic import register_line_magic\n@register_line_magic\ndef shout(line): return line.upper()',
        'import IPython\nIPython.get_ipython().run_line_magic("pwd", "")',
        'open("exported.py", "w").write("from IPython import get_ipython\\nget_ipython().run_line_magic(\'pwd\', \'\')")\nimport exported',
      ]) {
        const session = await fresh();
        expect((await session.run(code)).outcome, code).toEqual({ kind: 'ok' });
        if (code.includes('shout')) expect((await session.run('%shout abc')).value?.text).toBe("'ABC'");
      }
      const session = await fresh({ preloads: [] });
      expect((await session.run('1 + 1')).value?.text).toBe('2');
      expect((await session.run('import sys; "IPython" in sys.modules')).value?.text).toBe('False');
      const library =
        'import IPython, types\nlibrary = types.ModuleType("library")\nexec(compile("def look(): return get_ipython()", "/usr/lib/python3/dist-packages/library.py", "exec"), library.__dict__)\nlibrary.look() is None';
      expect((await session.run(library)).value?.text).toBe('True');
    },
  },
];
