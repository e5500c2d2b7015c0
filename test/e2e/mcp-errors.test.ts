import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { serveForTest } from '../support/served-hotcell.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';
import { connectStdio, type McpConnection } from './mcp-client.ts';

const LIMITS = { HOTCELL_MAX_TIMEOUT_MS: '60000', HOTCELL_MAX_CPUS: '4', HOTCELL_MAX_PROCESSES: '1000' };

let hotcell: BuiltHotcell;
let mcp: McpConnection;
beforeAll(async () => {
  hotcell = await buildHotcell();
  if (hotcell.unavailable !== undefined) return;
  mcp = await connectStdio(hotcell, 'modern', { args: ['--load-root', root], env: LIMITS });
  await mcp.call('write_file', { path: 'a.txt', content: 'a' });
});
afterAll(async () => {
  await mcp?.[Symbol.asyncDispose]();
  hotcell.remove();
});
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

/** What is said inside Hotcell, and in documents that a model does not have. */
const OURS = /[a-z]+(Ms|Bytes|Roots)\b|variables\.(get|set)|docs\/|Invalid key/;

describe('an error of a tool speaks in the names of its arguments, and says what to do', () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ['run_code', { code: '1', timeout_ms: 60_001 }, /timeout_ms: 60001 is more than 60000\b/],
    ['run_command', { command: 'true', timeout_ms: 60_001 }, /timeout_ms: 60001 is more than 60000\b/],
    ['run_command', { command: 'true', environment: { 'A B': '' } }, /environment\.A B: not the name of a variable/],
    ['run_command', { command: 'true', environment: { A: '\0' } }, /environment\.A: contains a NUL/],
    ['open_session', { limits: { memory_mb: 1 } }, /limits\.memory_mb: .*64\b/],
    ['open_session', { limits: { memory_mb: 100_000 } }, /limits\.memory_mb: 100000 is more than 8192\b/],
    ['open_session', { limits: { disk_mb: 5_000 } }, /limits\.disk_mb: .*memory_mb/],
    ['open_session', { limits: { memory_mb: 128, disk_mb: 129 } }, /limits\.disk_mb: .*memory_mb/],
    ['open_session', { limits: { cpus: 5 } }, /limits\.cpus: 5 is more than 4\b/],
    ['open_session', { limits: { processes: 1_001 } }, /limits\.processes: 1001 is more than 1000\b/],
    ['open_session', { ttl_seconds: 86_401 }, /ttl_seconds: 86401 is more than 86400\b/],
    ['open_session', { idle_seconds: 86_401 }, /idle_seconds: 86401 is more than 86400\b/],
    ['open_session', { image: 'python:3.12' }, /image: .*process/],
    ['open_session', { environment: { A: '\0' } }, /environment\.A: contains a NUL/],
    ['open_session', { environment: { 'A=': '' } }, /environment\.A=: not the name of a variable/],
    ['open_session', { mounts: [{ source: '/', target: 'data' }] }, /target .*absolute path.*\n→ .*\/data/],
    ['load_file', { source: `${root}README.md`, variable: 'class' }, /variable: class .*\n→ /],
    ['load_file', { source: `${root}README.md`, variable: 'x', as: 'json' }, /JSONDecodeError.*\n→ .*as/],
    ['inspect_variables', { expression: 'nowhere' }, /nowhere"\n→ .*inspect_variables/],
    ['inspect_variables', { expression: '1/0' }, /"ZeroDivisionError: division by zero"\n→ .*expression/],
    ['inspect_variables', { language: 'ruby' }, /ruby"\n→ .*run_code/],
    ['read_file', { path: 'a.txt', start_line: 9 }, /start_line 9 .*\n→ .*start_line/],
    ['run_code', { code: '1', session_id: 'nowhere' }, /nowhere\n→ .*session_id.*$/],
    ['read_file', { path: 'nowhere' }, /nowhere: .*\n→ List the files/],
  ])('%s %j', async (tool, args, wanted) => {
    const { isError, text, data } = await mcp.call(tool, args);
    expect(isError).toBe(true);
    expect(text).toMatch(wanted);
    expect(text).not.toMatch(OURS);
    expect(data.error.remedy).not.toBe('');
    expect(text).toContain(`→ ${data.error.remedy}`);
  });

  it('and so does one of POST /run', async () => {
    await using served = await serveForTest({ maxTimeoutMs: 60_000 });
    await served.server.sessions.open(served.nobody, { id: 'here' });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ code: '1', timeout_ms: 60_001 });
    const answer = await served.send('POST', '/run/here', { headers, body });
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject({
      error: { message: expect.stringMatching(/^timeout_ms: 60001 is more than 60000\b/) },
    });
    const metrics = await served.send('GET', '/metrics');
    expect(String(metrics.body)).toContain('hotcell_refusals_total{code="invalid_argument"} 1');
  });
});

it.each(['constructor', '__proto__', 'toString'])('%s is no tool and no prompt, as any other name', async (name) => {
  await expect(mcp.client.callTool({ name, arguments: {} })).rejects.toThrow(`Tool ${name} not found`);
  await expect(mcp.client.getPrompt({ name })).rejects.toThrow(`Prompt ${name} not found`);
});

it('what is more than the server allows is in the audit log, whoever checks it', async () => {
  await mcp.call('open_session', { limits: { memory_mb: 100_000 } });
  await mcp.call('run_code', { code: '1', timeout_ms: 60_001 });
  await mcp.call('run_command', { command: 'true', timeout_ms: 60_001 });
  const refused = () =>
    readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"refusal":"invalid_argument"'))
      .map((line) => JSON.parse(line).via);
  await expect.poll(refused).toEqual(expect.arrayContaining(['open_session', 'run_code', 'run_command']));
});
