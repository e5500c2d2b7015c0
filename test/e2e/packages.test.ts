import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { giveTools } from '../support/package-home.ts';
import { type PackageIndex, startPackageIndex, wheel } from '../support/package-index.ts';
import { type BuiltHotcell, buildHotcell } from './built-hotcell.ts';
import { type BuiltServer, startServer } from './http-server.ts';

/** Packages for programs and for holders of tokens, with the built program and an index of its own. */

let hotcell: BuiltHotcell;
let index: PackageIndex;
let server: BuiltServer;
let tokens: { readonly may: string; readonly mayNot: string };
const USE = 'import hc_used; print("used", hc_used.version)';
const cli = (...args: string[]) => hotcell.run(['dist/cli.js', ...args]);

beforeAll(async () => {
  index = await startPackageIndex();
  index.add(
    wheel({ name: 'hc-used', version: '1.2', requires: ['hc-below'], scripts: { 'hc-used': 'hc_used:main' } }),
    wheel({ name: 'hc-below' }),
    wheel({ name: 'hc-inside' }),
  );
  // Of this index alone, whatever the machine is set to.
  const none = { PIP_EXTRA_INDEX_URL: '', PIP_FIND_LINKS: '', UV_DEFAULT_INDEX: '', UV_INDEX_URL: '', UV_INDEX: '' };
  hotcell = await buildHotcell({ ...none, PIP_CONFIG_FILE: '/dev/null', PIP_INDEX_URL: index.url });
  if (hotcell.unavailable !== undefined) return;
  await giveTools(hotcell.home);
  const made = async (...args: string[]) => (await cli('token', 'create', ...args)).stdout.trim();
  tokens = { may: await made('ada', '--install'), mayNot: await made('bob') };
  server = await startServer(hotcell, ['--host', '0.0.0.0']);
}, 120_000);
afterAll(async () => {
  await server?.stop();
  await index[Symbol.asyncDispose]();
  hotcell.remove();
});
beforeEach((context) => {
  if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
});

const INSTALLED = 'hotcell: installing hc-used>=1\nhotcell: installed hc-below 1.0, hc-used 1.2\n';

describe('hotcell run --with', () => {
  it('installs what is named and what a script names itself, and runs the program', { timeout: 120_000 }, async () => {
    const named = await cli('run', '--with', 'hc-used>=1', '-c', USE);
    expect(named).toEqual({ exitCode: 0, stdout: 'used 1.2\n', stderr: INSTALLED });
    const script = await cli('run', inlineScript());
    expect(script).toEqual(named);
  });

  it('has a server install it, under the rights of the token', { timeout: 120_000 }, async () => {
    const there = (token: string) => ['--server', server.url, '--token', token];
    const named = await cli('run', '--with', 'hc-used>=1', '-c', USE, ...there(tokens.may));
    expect(named).toEqual({ exitCode: 0, stdout: 'used 1.2\n', stderr: INSTALLED });
    expect(await cli('run', inlineScript(), ...there(tokens.may))).toEqual(named);
    const wrong = await cli('run', '--with', 'hc-used==9', '-c', USE, ...there(tokens.may));
    expect(wrong).toMatchObject({ exitCode: 65, stdout: '', stderr: expect.stringMatching(/hc-used==9/) });
    const refused = await cli('run', inlineScript(), ...there(tokens.mayNot));
    expect(refused).toMatchObject({ exitCode: 77, stdout: '' });
    expect(refused.stderr).toMatch(/your token does not allow the installation of packages/);
    expect(refused.stderr).toMatch(/--install/);
  });
});

describe('the holder of a token', () => {
  it('that was made with --install installs by the tool and by pip inside', { timeout: 120_000 }, async () => {
    const client = await server.client('modern', tokens.may);
    const call = async (name: string, args: object) =>
      (await client.callTool({ name, arguments: { ...args } })) as Answer;
    const done = await call('install_packages', { packages: ['hc-used'] });
    expect(done.structuredContent).toMatchObject({
      installed: [
        { name: 'hc-below', version: '1.0' },
        { name: 'hc-used', version: '1.2' },
      ],
    });
    const inside = await call('run_code', { code: `!pip install hc-inside\n!hc-used\n${USE}\nimport hc_inside` });
    expect(inside.structuredContent).toMatchObject({
      outcome: 'ok',
      stdout: 'Successfully installed hc-inside-1.0\nhc-used 1.2\nused 1.2\n',
    });
    await call('reset_session', {});
    expect((await call('run_code', { code: USE })).structuredContent).toMatchObject({ stdout: 'used 1.2\n' });
    const { structuredContent } = await call('list_sessions', {});
    expect(structuredContent).toMatchObject({
      sessions: [{ packages: ['hc-below==1.0', 'hc-used==1.2', 'hc-inside==1.0'] }],
    });
    await expect.poll(() => audit()).toMatch(/"event":"packages-installed".*"hc-inside==1.0"/);
    await client.close();
  });

  it('that was made without it is refused, with what to ask for', { timeout: 120_000 }, async () => {
    const asked = index.requests.length;
    const client = await server.client('modern', tokens.mayNot);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain('install_packages');
    const refused = (await client.callTool({
      name: 'install_packages',
      arguments: { packages: ['hc-used'] },
    })) as Answer;
    expect(refused).toMatchObject({ isError: true });
    expect(refused.content[0]?.text).toMatch(/install_denied[\s\S]*your token does not allow[\s\S]*--install/);
    const inside = (await client.callTool({
      name: 'run_code',
      arguments: { code: '!pip install hc-inside' },
    })) as Answer;
    expect(inside.structuredContent).toMatchObject({
      outcome: 'raised',
      error: { hint: expect.stringMatching(/may not install packages.*--install/) },
    });
    expect(index.requests.length).toBe(asked);
    await expect.poll(() => audit()).toMatch(/"event":"refused".*install_denied/);
    await client.close();
  });
});

interface Answer {
  readonly structuredContent: object;
  readonly content: readonly { readonly text: string }[];
  readonly isError?: boolean;
}

/** A script that names its packages itself (PEP 723). */
function inlineScript(): string {
  const path = join(hotcell.home, 'inline.py');
  writeFileSync(path, `# /// script\n# dependencies = [\n#   "hc-used>=1",\n# ]\n# ///\n${USE}\n`);
  return path;
}

function audit(): string {
  return readFileSync(join(hotcell.home, 'audit', 'audit.jsonl'), 'utf8');
}
