import { expect } from 'vitest';
import type { ExecutionResult, Session } from '../../../src/index.ts';
import type { Requirement } from '../context.ts';

/** What the kernel of Node promises: the language, its modules, what it prints and shows. */
export const javascriptRequirements: readonly Requirement[] = [
  {
    id: 'javascript:start',
    tag: 'driver',
    title: 'the kernel starts with the first execution that needs it, soon, and later ones wait for nothing',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const timed = async () => {
        const began = performance.now();
        expect(await shownBy(session, '1 + 1')).toBe('2');
        return performance.now() - began;
      };
      // Generous: a suite has the machine never to itself. It is 80 ms and 1 ms on a quiet one.
      expect(await timed()).toBeLessThan(5000);
      const later: number[] = [];
      for (let turn = 0; turn < 21; turn += 1) later.push(await timed());
      expect(later.sort((a, b) => a - b)[10]).toBeLessThan(100);
    },
  },
  {
    id: 'javascript:value',
    tag: 'guest',
    title: 'the last expression is the value, as Node itself shows it',
    prove: async ({ session }) => {
      expect(await shownBy(session, '1 + 1')).toBe('2');
      expect(await shownBy(session, "({ a: [1, 'x', new Map([[1, { b: null }]])] })")).toBe(
        "{\n  a: [ 1, 'x', Map(1) { 1 => { b: null } } ]\n}",
      );
      expect(await shownBy(session, 'const unused = 5')).toBeUndefined();
      expect(await shownBy(session, 'undefined')).toBeUndefined();
      expect((await js(session, '"a".repeat(200_000)')).value?.truncated).toBe(true);
      expect(await shownBy(session, 'new Array(1e6).fill(7)')).toContain('999900 more items');
    },
  },
  {
    id: 'javascript:state',
    tag: 'guest',
    title: 'names live on, can be declared again, and are shared with TypeScript',
    prove: async ({ session }) => {
      await js(session, 'const x = 1; let y = 2; class A { n = 3 }\nfunction f(z) { return z * new A().n }');
      expect(await shownBy(session, 'const x = 10; class A { n = 4 }\nf(x) + y')).toBe('42');
      const typed = await session.run('interface P { n: number }\nconst p: P = { n: f(x) as number };\np.n', {
        language: 'typescript',
      });
      expect([typed.language, typed.value?.text]).toEqual(['typescript', '40']);
      expect(await shownBy(session, 'p.n + 1')).toBe('41');
    },
  },
  {
    id: 'javascript:await',
    tag: 'guest',
    title: 'await works at the top, and a program whose last line is a promise is over when that is',
    prove: async ({ session }) => {
      expect(await shownBy(session, 'const later = await new Promise((r) => setTimeout(r, 20, 5)); later + 1')).toBe(
        '6',
      );
      const main = await js(
        session,
        "async function main() {\n  for await (const n of [1, 2]) console.log(n);\n  await new Promise((r) => setTimeout(r, 20));\n  return 'done';\n}\nmain()",
      );
      expect([main.stdout, main.value?.text]).toEqual(['1\n2\n', "'done'"]);
      const sleepers =
        "const { setTimeout: nap } = require('timers/promises'); (await Promise.all(Array.from({ length: 30 }, (_, i) => nap(5, i)))).length";
      const slept = await js(session, sleepers);
      expect([slept.value?.text, slept.stderr]).toEqual(['30', '']);
      expect(await raisedBy(session, "(async () => { throw new TypeError('late') })()")).toMatchObject({
        name: 'TypeError',
        message: 'late',
      });
    },
  },
  {
    id: 'javascript:output',
    tag: 'guest',
    title: 'what the console, streams and children write arrives in its order, complete, and apart',
    prove: async ({ session }) => {
      const order: string[] = [];
      const run = session.run(
        "for (let i = 0; i < 3; i++) { console.log('o', i); console.error('e', i); }\nrequire('child_process').execSync('echo child', { stdio: 'inherit' });\nprocess.stdout.write('last');\nprocess.nextTick(() => console.log(' tick'));\nPromise.resolve().then(() => console.log('then'))",
        { language: 'javascript' },
      );
      for await (const event of run) if (event.kind === 'stdout' || event.kind === 'stderr') order.push(event.text);
      expect(order.join('')).toBe('o 0\ne 0\no 1\ne 1\no 2\ne 2\nchild\nlast tick\nthen\n');
      expect((await run).stderr).toBe('e 0\ne 1\ne 2\n');
    },
  },
  {
    id: 'javascript:modules',
    tag: 'guest',
    title: 'import and require find builtins, files and packages of the workspace, and see a file that was changed',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.files.write('lib/double.mjs', 'export default (n) => n * 2;\nexport const name = "double";\n');
      await session.files.write('old.cjs', 'module.exports = { old: __filename };\n');
      await session.files.write('node_modules/tiny/package.json', '{"name":"tiny","version":"1.2.3","main":"main.js"}');
      await session.files.write('node_modules/tiny/main.js', 'exports.tiny = (text) => "<" + text + ">";\n');
      const code = `import fs, { readFileSync as read } from 'node:fs';
import double, { name } from './lib/double.mjs';
import * as path from 'path';
import {
  tiny,
} from 'tiny';
const { old } = require('./old.cjs');
[typeof fs.readFileSync === typeof read, double(21), name, path.basename(old), tiny('x'), require('tiny').tiny('y')]`;
      expect(await shownBy(session, code)).toBe("[ true, 42, 'double', 'old.cjs', '<x>', '<y>' ]");
      expect(await shownBy(session, "(await import('node:os')).EOL + double(1)")).toBe("'\\n2'");
      await session.files.write(
        'lib/double.mjs',
        'export default (n) => n * 2 + 0.5;\nexport const name = "again";\n',
        {
          mode: 'replace',
        },
      );
      expect(await shownBy(session, "import double from './lib/double.mjs'; double(1)")).toBe('2.5');
      expect(await raisedBy(session, "import { nothing } from 'node:fs'")).toMatchObject({ name: 'SyntaxError' });
      expect((await raisedBy(session, "import 'no-such-package'")).message).toContain('no-such-package');
      const isMain =
        "import { pathToFileURL } from 'node:url'; [require.main === module, import.meta.url === pathToFileURL(process.argv[1]).href]";
      expect(await shownBy(session, isMain)).toBe('[ true, true ]');
      expect(await shownBy(session, 'export const shown = import.meta.dirname; shown')).toBe(
        await shownBy(session, '__dirname'),
      );
    },
  },
  {
    id: 'javascript:traceback',
    tag: 'guest',
    title: 'a stack shows the lines of the user, what caused it, and nothing of ours or of Node',
    prove: async ({ session }) => {
      const thrown = await raisedBy(
        session,
        "function inner() {\n  throw new Error('broken', { cause: new TypeError('why') });\n}\ninner()",
        'report.js',
      );
      expect(thrown).toMatchObject({ name: 'Error', message: 'broken' });
      const text = thrown.traceback.join('\n');
      expect(text).toMatch(/^report\.js:2\n {2}throw new Error/);
      expect(text).toContain('    at inner (report.js:2:9)\n    at report.js:4:1');
      expect(text).toContain('[cause]: TypeError: why');
      expect(text).not.toMatch(/hotcell:|node:|\[eval\]/);
      expect((await raisedBy(session, 'throw 42')).message).toBe('42');
      expect((await raisedBy(session, 'let a = 1;\nlet b = (;')).traceback).toEqual([
        expect.stringMatching(/^<execution \d+>:2$/),
        'let b = (;',
        '         ^',
        '',
        "SyntaxError: Unexpected token ';'",
      ]);
      expect((await raisedBy(session, 'const typed: number = 1')).hint).toContain("'typescript'");
      expect((await raisedBy(session, 'let c = (;')).hint).toBeUndefined();
      const several = await raisedBy(
        session,
        "await Promise.any([Promise.reject(new Error('one')), Promise.reject(2)])",
      );
      expect(several.name).toBe('AggregateError');
      expect(several.traceback.join('\n')).toContain('Error: one');
    },
  },
  {
    id: 'javascript:display',
    tag: 'guest',
    title: 'display() shows bundles and images in their place, and a value can show itself',
    prove: async ({ session }) => {
      const order: string[] = [];
      const run = session.run(
        "console.log('before'); display({ 'text/plain': 'b', 'text/html': '<b>b</b>' }); console.log('after');\ndisplay(Buffer.alloc(300_000, 7), 'image/png'); display([1]); display('now', { id: 'd' }); display('then', { id: 'd', update: true });\n({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<i>v</i>' }) })",
        { language: 'javascript' },
      );
      for await (const event of run) order.push(event.kind === 'stdout' ? event.text : `[${event.kind}]`);
      expect(order.join('').slice(0, 22)).toBe('before\n[display]after\n');
      const { displays, value } = await run;
      expect(displays.map(({ representations }) => representations.map(({ mediaType }) => mediaType))).toEqual([
        ['text/plain', 'text/html'],
        ['image/png'],
        ['text/plain'],
        ['text/plain'],
      ]);
      expect(displays[1]?.representations[0]?.data.length).toBe(300_000);
      expect(displays[3]?.representations[0]?.data.toString()).toBe('then');
      expect(value?.representations.map(({ mediaType }) => mediaType)).toEqual(['text/html']);
      expect((await raisedBy(session, "display('x', 'no media type')")).name).toBe('TypeError');
    },
  },
  {
    id: 'typescript:types',
    tag: 'guest',
    title: 'types, enums, generics, parameter properties and type imports vanish, and lines stay',
    prove: async ({ session }) => {
      const code = `import type { Stats } from 'node:fs';
import { readFileSync } from 'node:fs';
enum Level { Low = 1, High = 5 }
interface Item<T extends object> { readonly value: T; level?: Level }
abstract class Base<T> { constructor(protected readonly inner: T, public count = 2) {} abstract go(): T }
class Twice extends Base<number> { go(): number { return this.inner! * this.count } }
type Pair = [a: string, b?: number];
const pair = ['x', 1] as const satisfies Pair;
function pick<T, K extends keyof T>(from: T, key: K): T[K] { return from[key]; }
const item: Item<{ n: number }> = { value: { n: new Twice(4).go() }, level: Level.High };
[pick(item.value, 'n'), Level[5], pair[0], typeof readFileSync]`;
      const typed = await session.run(code, { language: 'typescript' });
      expect([typed.outcome, typed.value?.text]).toEqual([{ kind: 'ok' }, "[ 8, 'High', 'x', 'function' ]"]);
      const failed = await session.run('enum E {\n  A,\n  B,\n}\nconst n: number =\n  null!.x;', {
        language: 'typescript',
        filename: 'typed.ts',
      });
      expect(failed.outcome.kind === 'raised' && failed.outcome.traceback.slice(0, 2)).toEqual([
        'typed.ts:6',
        '  null!.x;',
      ]);
      const broken = await session.run('let ok = 1;\nlet x: = 2;', { language: 'typescript' });
      expect(broken.outcome).toMatchObject({ kind: 'raised', name: 'SyntaxError' });
      expect(broken.outcome.kind === 'raised' && broken.outcome.traceback[1]).toBe('let x: = 2;');
    },
  },
  {
    id: 'javascript:side-by-side',
    tag: 'guest',
    title: 'Python, JavaScript and bash live side by side in one session and share its workspace',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('n = 6\nopen("shared.txt", "w").write("from python")');
      await js(session, 'const n = 7; require("fs").appendFileSync("shared.txt", ", from node")');
      await session.run('n=8; echo ", from bash" >> shared.txt', { language: 'bash' });
      expect(await shownBy(session, 'n + require("fs").readFileSync("shared.txt", "utf8")')).toBe(
        "'7from python, from node, from bash\\n'",
      );
      expect((await session.run('n')).value?.text).toBe('6');
      expect((await session.run('echo $n', { language: 'bash' })).stdout).toBe('8\n');
      await session.reset();
      expect((await raisedBy(session, 'n')).name).toBe('ReferenceError');
    },
  },
];

export function js(session: Session, code: string, timeoutMs = 30_000): PromiseLike<ExecutionResult> {
  return session.run(code, { language: 'javascript', timeoutMs });
}

export async function shownBy(session: Session, code: string): Promise<string | undefined> {
  const { outcome, value } = await js(session, code);
  expect(outcome).toEqual({ kind: 'ok' });
  return value?.text;
}

export async function raisedBy(session: Session, code: string, filename?: string) {
  const { outcome, state } = await session.run(code, {
    language: 'javascript',
    ...(filename === undefined ? {} : { filename }),
  });
  expect(state).toBe('kept');
  if (outcome.kind !== 'raised') throw new Error(`not raised: ${JSON.stringify(outcome)}`);
  return outcome;
}
