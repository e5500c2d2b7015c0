import { expect } from 'vitest';
import type { Requirement } from '../context.ts';
import { js, raisedBy, shownBy } from './javascript.ts';

const LIMITED = { bare: 'has no limits; proved on every real driver' };

/** How JavaScript ends: by itself, by a limit, by what nobody caught; and what is left then. */
export const javascriptEndRequirements: readonly Requirement[] = [
  {
    id: 'javascript:timeout',
    tag: 'guest',
    title: 'an endless loop, a promise that never resolves and a loop of timers end by the limit, and names are kept',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await js(session, 'let kept = 7');
      for (const code of [
        'while (true) {}',
        'await new Promise(() => {})',
        'while (true) await null',
        'setTimeout(() => { for (;;); }, 5); await new Promise(() => {})',
        'let turns = 0; for (;;) { turns++; await new Promise((r) => setTimeout(r, 5)) }',
        "const { setTimeout: sleep } = require('timers/promises'); for (;;) await sleep(5)",
        "require('child_process').execSync('sleep 60')",
        '({ [Symbol.for("nodejs.util.inspect.custom")]() { for (;;); } })',
      ]) {
        const began = performance.now();
        const { outcome, state } = await js(session, code, 250);
        expect([code, outcome, state]).toEqual([code, { kind: 'timed-out', limitMs: 250 }, 'kept']);
        expect(performance.now() - began).toBeLessThan(5000);
        expect(await shownBy(session, 'kept')).toBe('7');
      }
      const turns = await shownBy(session, 'turns');
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await shownBy(session, 'turns')).toBe(turns);
      // What V8 still held of them is collected without harm.
      expect(await shownBy(session, 'for (let i = 0; i < 200; i++) new Array(1e5).fill(i); kept')).toBe('7');
    },
  },
  {
    id: 'javascript:cancel',
    tag: 'guest',
    title: 'a cancelled execution is interrupted and names are kept',
    prove: async ({ session }) => {
      await js(session, 'var survivor = 1');
      const controller = new AbortController();
      const running = session.run("survivor++; console.log('begun'); for (;;);", {
        language: 'javascript',
        signal: controller.signal,
      });
      for await (const event of running) if (event.kind === 'stdout') controller.abort();
      const { outcome, state } = await running;
      expect([outcome, state]).toEqual([{ kind: 'interrupted' }, 'kept']);
      expect(await shownBy(session, 'survivor')).toBe('2');
    },
  },
  {
    id: 'javascript:exit',
    tag: 'guest',
    title: 'process.exit ends the execution where it stands and keeps names; abort loses them',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await js(session, 'const x = 1');
      const left = await js(session, "console.log('a'); try { process.exit(3) } finally { console.log('never') }");
      expect([left.outcome, left.stdout, left.state]).toEqual([{ kind: 'exited', exitCode: 3 }, 'a\n', 'kept']);
      const later = await js(session, 'setTimeout(() => process.exit(4), 5); await new Promise(() => {})');
      expect(later.outcome).toEqual({ kind: 'exited', exitCode: 4 });
      expect((await js(session, 'process.exitCode = 5')).outcome).toEqual({ kind: 'exited', exitCode: 5 });
      expect(await shownBy(session, 'x')).toBe('1');
      const died = await js(session, 'process.abort()');
      expect([died.outcome, died.state]).toEqual([{ kind: 'kernel-died', signal: 'SIGABRT' }, 'lost']);
      expect((await raisedBy(session, 'x')).name).toBe('ReferenceError');
    },
  },
  {
    id: 'javascript:uncaught',
    tag: 'guest',
    title: 'what nobody catches ends the program that waits, and after its end is background output',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await js(session, 'const x = 1');
      const waiting = "setTimeout(() => { throw new Error('in a timer') }, 5); await new Promise(() => {})";
      expect((await raisedBy(session, waiting)).message).toBe('in a timer');
      expect((await raisedBy(session, "Promise.reject(new Error('floating')); 1")).message).toBe('floating');
      const quick = await js(
        session,
        "const looks = setInterval(() => { if (!require('fs').existsSync('go')) return; clearInterval(looks); console.log('late'); throw new Error('too late') }, 10); 2",
      );
      expect([quick.outcome, quick.value?.text]).toEqual([{ kind: 'ok' }, '2']);
      await session.files.write('go', '');
      await expect.poll(() => session.backgroundOutput()).toMatch(/late\n[\s\S]*Error: too late/);
      const next = await js(session, 'x');
      expect([next.value?.text, next.stdout, next.stderr]).toEqual(['1', '', '']);
    },
  },
  {
    id: 'javascript:out-of-memory',
    tag: 'driver',
    title: 'a heap or buffers beyond the limit are out-of-memory, and the session goes on',
    exempt: LIMITED,
    prove: async ({ fresh }) => {
      const session = await fresh({ limits: { memoryBytes: 512 * 1_048_576 } });
      for (const code of [
        'const all = []; for (;;) all.push(new Array(10_000).fill(1.5))',
        'const all = []; for (;;) all.push(Buffer.alloc(10_000_000, 1))',
      ]) {
        const { outcome } = await js(session, code, 60_000);
        expect([code, outcome.kind]).toEqual([code, 'out-of-memory']);
        expect(await shownBy(session, '1 + 1')).toBe('2');
      }
      expect((await session.run('1 + 1')).value?.text).toBe('2');
    },
  },
  {
    id: 'javascript:flood',
    tag: 'guest',
    title: 'a flood of output is cut to head and tail, and the program is not blocked',
    prove: async ({ session }) => {
      const result = await js(session, "for (let i = 0; i < 60_000; i++) console.log(i, 'x'.repeat(40))", 50_000);
      expect(result.outcome).toEqual({ kind: 'ok' });
      expect(result.stdout.startsWith('0 xxx')).toBe(true);
      expect(result.stdout).toContain('59999 xxx');
      expect(result.stdout.length).toBeLessThan(140_000);
    },
  },
  {
    id: 'javascript:robust',
    tag: 'guest',
    title: 'what a program does to its globals, listeners and streams costs neither the kernel nor the next execution',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const survives = async (code: string) => {
        expect([code, (await js(session, code)).outcome.kind]).toEqual([code, 'ok']);
        const next = await js(session, "require('console').log('printed'); 1 + 1");
        expect([code, next.outcome, next.value?.text, next.stdout]).toEqual([code, { kind: 'ok' }, '2', 'printed\n']);
      };
      await survives('process.removeAllListeners()');
      expect((await js(session, 'process.removeAllListeners(); for (;;);', 500)).outcome.kind).toBe('timed-out');
      await survives("process.stdout.write = () => true; console.log('lost')");
      await survives(
        "process.stdout.end('x'); const fs = require('fs'); fs.closeSync(0); fs.closeSync(1); fs.closeSync(2)",
      );
      await survives(
        'globalThis.Promise = null; globalThis.JSON = null; Array.prototype.map = null; Object.keys = null',
      );
      await survives('delete globalThis.process; delete globalThis.Buffer; delete globalThis.setImmediate');
      await survives("new (require('worker_threads').Worker)('for (;;);', { eval: true }).unref(); 1");
      await survives("require('process').chdir('/tmp')");
      expect((await raisedBy(session, "throw new Error('still described')")).traceback.join('\n')).toContain(
        'described',
      );
    },
  },
  {
    id: 'javascript:forged',
    tag: 'guest',
    title: 'a program that holds the private socket, the link thread or the inspector hurts its own kernel at most',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const frame =
        "const frame = (head) => { const h = Buffer.from(JSON.stringify(head)); const b = Buffer.alloc(24); b.write('HC'); b[2] = 1; b.writeUInt32BE(h.length, 4); return Buffer.concat([b, h]) };\nconst say = (head) => require('fs').writeSync(3, frame(head));\n";
      const wait = '\nawait new Promise((r) => setTimeout(r, 300));';
      for (const code of [
        "require('fs').writeSync(3, 'garbage'.repeat(100));",
        `${frame}say({ type: 'finished', outcome: { kind: 'ok' }, cpuMs: 1, peakMemoryBytes: 1 });`,
        `${frame}try { for (let i = 0; i < 5000; i++) say({ type: 'drain', turn: i }) } catch {}`,
        "require('fs').closeSync(3);",
        "require('fs').closeSync(4);",
        'for (const handle of process._getActiveHandles()) { try { handle.terminate?.(); handle.destroy?.() } catch {} }',
        "const s = new (require('inspector').Session)(); s.connect(); s.post('Runtime.terminateExecution');",
        "process.kill(0, 'SIGWINCH');",
        "process.setUncaughtExceptionCaptureCallback(null); setTimeout(() => { throw new Error('x') }, 5);",
      ]) {
        await js(session, `${code}${wait}`, 5000);
        // A lie about its end may cost the next execution its kernel; the one after that is as any other.
        await js(session, '0', 5000);
        expect([code, await shownBy(session, '40 + 2')]).toEqual([code, '42']);
      }
      const typed = await session.run('const n: number = 1; n', { language: 'typescript' });
      expect(['ok', 'kernel-died']).toContain(typed.outcome.kind);
      expect((await session.run('1 + 1')).value?.text).toBe('2');
    },
  },
  {
    id: 'javascript:no-port',
    tag: 'guest',
    title: 'the inspector that runs the code opens no port, not even by its signal',
    prove: async ({ session }) => {
      const ports =
        "require('fs').readFileSync('/proc/net/tcp', 'utf8').split('\\n').filter((l) => / 0A /.test(l)).map((l) => l.split(/\\s+/)[2]).filter((a) => a.endsWith(':240D'))";
      await js(session, "process.kill(process.pid, 'SIGUSR1'); await new Promise((r) => setTimeout(r, 200))");
      expect(await shownBy(session, ports)).toBe('[]');
    },
  },
  {
    id: 'javascript:result',
    tag: 'guest',
    title: 'a result carries processor time, memory and what was made',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const result = await js(
        session,
        "const fs = require('fs'); fs.mkdirSync('out'); fs.writeFileSync('out/x.csv', '1,2');\nconst began = process.cpuUsage().user; while (process.cpuUsage().user - began < 50_000);",
      );
      expect(result.artifacts.map(({ path, change }) => [path, change])).toEqual([['out/x.csv', 'created']]);
      expect(result.cpuMs).toBeGreaterThanOrEqual(40);
      expect(result.peakMemoryBytes).toBeGreaterThan(10_000_000);
      expect(result).toMatchObject({ language: 'javascript', state: 'kept' });
    },
  },
];
