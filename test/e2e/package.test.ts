import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpbManifestSchema } from '@anthropic-ai/mcpb/schemas/0.3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withExtraCertificates } from '../../scripts/extra-certificates.mjs';
import { strength } from '../support/strength.ts';
import { type BuiltHotcell, buildHotcell, root } from './built-hotcell.ts';

let hotcell: BuiltHotcell;
let folder: string;
let release: string;
beforeAll(async () => {
  hotcell = await buildHotcell();
  folder = mkdtempSync(join(tmpdir(), 'hc-package-'));
  chmodSync(folder, 0o755); // the jail's user must be able to read the guest
  release = join(folder, 'release');
  mustRun(process.execPath, ['scripts/package.mjs', release], root);
});
afterAll(() => {
  hotcell?.remove();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const released = (extension: string) => join(release, readdirSync(release).find((name) => name.endsWith(extension))!);

describe('the package', () => {
  let installed: string;
  let elsewhere: string;
  beforeAll(() => {
    installed = join(folder, 'installed');
    elsewhere = join(folder, 'some where else');
    mkdirSync(elsewhere);
    mustRun(
      'npm',
      ['install', '--global', '--prefix', installed, '--prefer-offline', '--no-audit', '--no-fund', released('.tgz')],
      elsewhere,
    );
  });

  const command = (args: string[], input = '', program = join(installed, 'bin', 'hotcell')) =>
    spawnSync(program, args, {
      cwd: elsewhere,
      input,
      encoding: 'utf8',
      env: { ...process.env, HOTCELL_HOME: hotcell.home, HOTCELL_ISOLATION: 'process', HOME: elsewhere },
    });

  it('runs from any folder, by the command it installs', (context) => {
    expect(command(['--version'])).toMatchObject({ status: 0, stdout: `${about.version}\n` });
    if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
    expect(command(['run', '-'], 'print(6 * 7)')).toMatchObject({ status: 0, stdout: '42\n', stderr: '' });
    expect(command(['run', '-', '--language', 'javascript'], 'console.log(6 * 7)')).toMatchObject({
      status: 0,
      stdout: '42\n',
    });
    expect(hotcell.leftovers()).toEqual([]);
  });

  it('answers a client over stdio', () => {
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
    const request = { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello };
    const { stdout, status } = command(['mcp'], `${JSON.stringify(request)}\n`);
    expect(status).toBe(0);
    expect(JSON.parse(stdout.split('\n')[0]!)).toMatchObject({
      result: { serverInfo: { name: 'hotcell', version: about.version } },
    });
  });

  it('puts its own place into a client’s configuration', () => {
    const own = mkdtempSync(join(root, 'node_modules', '.hc-package-')); // it refuses to stay in a folder such as /tmp
    try {
      cpSync(join(installed, 'lib', 'node_modules', 'hotcell'), own, { recursive: true });
      const program = join(own, 'dist', 'cli.js');
      const { stdout } = command([program, 'install', 'cursor', '--print', '--json'], '', process.execPath);
      expect(JSON.parse(stdout).entry.args[0]).toBe(program);
    } finally {
      rmSync(own, { recursive: true });
    }
  });

  it('can do all its help tells of: every command loads', () => {
    // All of them are in one file of the bundle; `--help` of the whole program has each.
    const names = ['run', 'mcp', 'repl', 'shell', 'serve', 'install', 'token', 'sessions', 'doctor', 'setup', 'demo'];
    const help = command(['--help']).stdout;
    expect(names.filter((name) => !help.includes(`\n  ${name} `))).toEqual([]);
    for (const name of strength({ plain: names.slice(0, 2), all: names })) {
      expect(command([name, '--help'])).toMatchObject({ status: 0, stdout: expect.stringContaining('Examples:') });
    }
    expect(command(['token', 'list'])).toMatchObject({ status: 0 });
    expect(JSON.parse(command(['doctor', '--json']).stdout)).toHaveProperty('probes');
  });

  it('carries the bundle, the guest and what they need, and no sources, tests or hidden files', () => {
    const names = mustRun('tar', ['-tzf', released('.tgz')], folder)
      .stdout.trim()
      .split('\n');
    expect(names).toContain('package/dist/cli.js');
    expect(names).toContain('package/guest/hotcell_guest/__main__.py');
    expect(names).toContain('package/guest/hotcell_guest/languages/node-main.js');
    expect(names).toContain('package/guest/bootstrap/relay.py');
    expect(
      names.filter((name) => /\/(src|test|tests|node_modules|__pycache__|bench|\.[^/]+)(\/|$)/.test(name)),
    ).toEqual([]);
    expect(Object.keys(about.dependencies)).toEqual(['zod']); // for the types alone
  });
});

describe('the bundle for clients that install with a click', () => {
  it('has a manifest as its schema wants it, that starts the server in it', (context) => {
    const unpacked = join(folder, 'unpacked');
    mustRun(join(root, 'node_modules', '.bin', 'mcpb'), ['unpack', released('.mcpb'), unpacked], folder);
    const manifest = McpbManifestSchema.parse(JSON.parse(readFileSync(join(unpacked, 'manifest.json'), 'utf8')));
    expect(manifest.version).toBe(about.version);
    const { args = [] } = manifest.server.mcp_config;
    const filled = args.map((arg) => arg.replace(['$', '{__dirname}'].join(''), unpacked));
    if (hotcell.unavailable !== undefined) context.skip(hotcell.unavailable);
    const version = spawnSync(process.execPath, [filled[0]!, '--version'], { encoding: 'utf8' });
    expect(version.stdout).toBe(`${about.version}\n`);
  });
});

describe('the entry for the registry', () => {
  const entry = z.strictObject({
    $schema: z.url(),
    name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
    title: z.string().max(100),
    description: z.string().min(1).max(100),
    version: z.string().regex(/^\d+\.\d+\.\d+/),
    repository: z.strictObject({ url: z.url(), source: z.literal('github') }),
    packages: z.array(
      z.strictObject({
        registryType: z.literal('npm'),
        identifier: z.literal(about.name),
        version: z.literal(about.version),
        runtimeHint: z.string(),
        transport: z.strictObject({ type: z.literal('stdio') }),
        packageArguments: z.array(z.strictObject({ type: z.literal('positional'), value: z.string() })),
        environmentVariables: z.array(
          z.strictObject({
            name: z.string(),
            description: z.string(),
            default: z.string(),
            choices: z.array(z.string()),
          }),
        ),
      }),
    ),
  });

  it('names this package and this version', () => {
    const server = entry.parse(JSON.parse(readFileSync(released('server.json'), 'utf8')));
    expect([server.name, server.version]).toEqual([about.mcpName, about.version]);
  });

  it('has the name that the registry grants to whoever publishes from the repository of the package', () => {
    const [, owner] = /^git\+https:\/\/github\.com\/([^/]+)\/[^/]+\.git$/.exec(about.repository.url)!;
    expect(about.mcpName).toMatch(new RegExp(`^io\\.github\\.${owner}/`));
  });
});

describe('the release workflow', () => {
  const workflow = readFileSync(join(root, '.github', 'workflows', 'release.yml'), 'utf8');

  it('names only scripts that there are', () => {
    const scripts = [...workflow.matchAll(/npm run ([\w:]+)/g)].map(([, name]) => name!);
    expect(scripts.filter((name) => about.scripts[name] === undefined)).toEqual([]);
    expect(scripts).toContain('package');
  });

  it('hands the package to npm by a path that npm takes for one', () => {
    const line = workflow.split('\n').find((text) => text.includes('npm publish'))!;
    const pattern = /npm publish .* (\S+)$/.exec(line)![1]!;
    const path = pattern.replace('release/*.tgz', released('.tgz').slice(folder.length + 1));
    // `npm pack` reads its argument as `npm publish` does, and asks nobody.
    mustRun('npm', ['pack', '--dry-run', '--ignore-scripts', '--offline', path], folder);
  });
});

function mustRun(program: string, args: string[], cwd: string): SpawnSyncReturns<string> {
  const result = spawnSync(program, args, { cwd, encoding: 'utf8', env: withExtraCertificates(process.env) });
  if (result.status !== 0) throw new Error(`${program} ${args.join(' ')}: ${result.stderr}${result.stdout}`);
  return result;
}
