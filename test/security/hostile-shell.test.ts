import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellQuoted } from '../../src/lib/shell-quoted.ts';
import { root } from '../e2e/built-hotcell.ts';
import { buildOnce } from '../support/built-program.ts';
import { type HostileServer, startHostileServer } from '../support/hostile-server.ts';
import { expectHarmless, HOSTILE } from '../support/hostile-strings.ts';
import { strength } from '../support/strength.ts';
import { startOnTerminal, type TerminalProgram } from '../support/terminal.ts';

/**
 * SECURITY: `hotcell shell` gives a program, and a server, a person's terminal in raw mode. They may draw on it; they must not command it, and it must be as before when they are gone. The
 * bytes are looked at that come out of a real pseudo-terminal.
 */

let folder: string;
beforeAll(() => {
  buildOnce();
  folder = mkdtempSync(join(tmpdir(), 'hc-shell-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers the routes of commands with whatever it is told to. */
function startServer({ stream, list }: { stream: Answer; list?: Answer }): Promise<HostileServer> {
  return startHostileServer((request, response) => {
    request.resume();
    if (/\/(?:input|signal|resize)(?:\?|$)/.test(request.url ?? '')) return response.end('{"accepted": true}');
    if (request.method === 'GET' && list !== undefined) return list(request, response);
    return stream(request, response);
  });
}

function lines(response: ServerResponse, ...sent: object[]): ServerResponse {
  for (const line of sent) response.write(`${JSON.stringify(line)}\n`);
  return response;
}

/** On a terminal whose settings are looked at before and after. */
function start(args: readonly string[]): TerminalProgram & { settings(name: 'before' | 'after'): string } {
  const program = [process.execPath, join(root, 'dist', 'cli.js'), 'shell', ...args].map(shellQuoted).join(' ');
  const script = `stty -a > before; ${program}; code=$?; stty -a > after; exit $code`;
  const env = { ...process.env, HOTCELL_HOME: folder, NO_COLOR: '1', CI: undefined };
  const terminal = startOnTerminal(['sh', '-c', script], { cwd: folder, env });
  return { ...terminal, settings: (name) => readFileSync(join(folder, name), 'utf8') };
}

/** What commands a terminal, or makes it type: strings, C1, ENQ, and queries. */
const COMMANDS =
  /\x1b[\]PX^_kZ]|[\x05\x80-\x9f]|\x1b\[[^@-~]*[cnptxyi]|\x1b\[[<=>][^@-~]*[@-~]|\x1b\[\?(?:9|100\d|1015)h/;

const DRAWN = '\x1b[?1049h\x1b[?25l\x1b[2;5r\x1b[31mdrawn\x1b[?1h\x1b=';
const ATTACKS = [
  '\x1b]0;owned\x07',
  '\x1b]52;c;Y3VybA==\x1b\\',
  '\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\',
  '\x1b[c\x1b[>c\x1b[6n\x1b[21t\x1b[?25$p\x1b[>q\x05\x1bZ',
  '\x1b[?1000h\x1b[?1003h\x1b[?1004h\x1b[5i\x1b[2h',
  '\x9d0;t\x9c\x9b6n',
  '\x1bktitle\x1b\\',
];

describe('a program that draws', () => {
  it('cannot command the terminal, however its output is cut', async () => {
    for (const attack of ATTACKS) expect(attack).toMatch(COMMANDS);
    const text = `${DRAWN}${ATTACKS.join('')}the end`;
    await using server = await startServer({
      stream: (_, response) => {
        const cut = [...text].map((character) => ({ stdout: character }));
        lines(
          response,
          { execution_id: 'x-1' },
          ...cut,
          { stdout: text },
          { ended: { outcome: { kind: 'exited', exitCode: 3 } } },
        );
        response.end();
      },
    });
    const terminal = start(['s', '--server', server.url]);
    expect(await terminal.ended).toBe(3);
    const written = terminal.written();
    expect(written).not.toMatch(COMMANDS);
    expect(written).toContain(DRAWN);
    // And the screen is the person's again.
    expect(written).toMatch(/the end\x1b\[\?1049l/);
    for (const undone of ['\x1b[0m', '\x1b[?25h', '\x1b7\x1b[r\x1b8', '\x1b[?1l', '\x1b>']) {
      expect(written.slice(written.lastIndexOf('the end'))).toContain(undone);
    }
    expect(terminal.settings('after')).toBe(terminal.settings('before'));
  });
});

describe('the terminal is given back', () => {
  const draws: Answer = (_, response) => {
    lines(response, { execution_id: 'x-1' }, { stdout: `${DRAWN}ready` });
  };

  it.each([
    ['when the connection breaks', (server: HostileServer) => server[Symbol.asyncDispose](), 69],
    ['on SIGTERM', 'SIGTERM', 143],
    ['on SIGHUP', 'SIGHUP', 129],
  ] as const)('%s', async (_, end, exitCode) => {
    await using server = await startServer({ stream: draws });
    const terminal = start(['s', '--server', server.url]);
    await terminal.see('ready');
    if (typeof end === 'string') process.kill(await childOf(await terminal.pid()), end);
    else await end(server);
    expect(await terminal.ended).toBe(exitCode);
    expect(terminal.written()).toMatch(/ready.*\x1b\[\?1049l.*\x1b\[\?25h/s);
    expect(terminal.settings('after')).toBe(terminal.settings('before'));
  });

  it('when the person detaches, who is told how to attach again', async () => {
    await using server = await startServer({ stream: draws });
    const terminal = start(['s', '--server', server.url]);
    await terminal.see('ready');
    terminal.type('ls\r~~\r~.');
    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain(`hotcell shell s --attach x-1 --server ${server.url}`);
    expect(terminal.settings('after')).toBe(terminal.settings('before'));
  });
});

describe('the words of a server', () => {
  const listed = {
    execution_id: HOSTILE,
    command: HOSTILE,
    state: 'running',
    started_at: '2026-01-01T00:00:00.000Z',
    terminal: true,
  };

  it('are quoted in a list, and harmless in its JSON', async () => {
    const list: Answer = (_, response) => response.end(JSON.stringify({ commands: [listed] }));
    await using server = await startServer({ stream: list, list });
    // JSON is written by one function, whatever it holds.
    for (const flags of strength({ plain: [[]], all: [[], ['--json']] })) {
      const terminal = start(['s', '--server', server.url, '--list', ...flags]);
      expect(await terminal.ended).toBe(0);
      expectHarmless(terminal.written());
      expect(terminal.written()).toContain('hostile');
    }
  });

  it('are quoted in errors, and in the line that attaches again', async () => {
    const error = { code: 'session_busy', message: HOSTILE, remedy: HOSTILE };
    await using refusing = await startServer({
      stream: (_, response) => response.writeHead(409).end(JSON.stringify({ error })),
    });
    const refused = start(['s', '--server', refusing.url]);
    expect(await refused.ended).toBe(75);
    expectHarmless(refused.written());
    expect(refused.written()).toContain('the server says: "hostile');

    await using naming = await startServer({
      stream: (_, response) => lines(response, { execution_id: '$(touch forged)\x1b]0;x\x07' }, { stdout: 'ready' }),
    });
    const named = start(['s', '--server', naming.url]);
    await named.see('ready');
    named.type('~.');
    expect(await named.ended).toBe(0);
    expectHarmless(named.written());
    expect(named.written()).not.toContain('touch');
  });

  it('that are no answer end with an error and not with a crash', async () => {
    const answers: Answer[] = [
      (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      (_, response) => response.end('nonsense\n'),
      (_, response) => response.end(),
      (_, response) => lines(response, { execution_id: 'x' }, { ended: { outcome: { kind: 'strange' } } }).end(),
      (_, response) => lines(response, { execution_id: 'x' }, { error: 'strange' }).end(),
    ];
    // Each is read by the same function, line by line.
    for (const stream of answers.slice(strength({ plain: 3, all: 0 }))) {
      await using server = await startServer({ stream });
      const terminal = start(['s', '--server', server.url]);
      expect(await terminal.ended).toBeGreaterThanOrEqual(64);
      expectHarmless(terminal.written());
      expect(terminal.settings('after')).toBe(terminal.settings('before'));
    }
  });
});

/** `sh` has one child, the program. */
async function childOf(pid: number): Promise<number> {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}
