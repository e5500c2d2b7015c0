import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-root.ts';
import { runCommand } from '../lib/run-command.ts';
import { installerVariables } from './installer-variables.ts';

/** The settings of this machine's pip that decide where packages come from. */
export interface PipSettings {
  /** Undefined if none is configured, so that pip asks its own default. */
  readonly index: string | undefined;
  readonly extraIndexes: readonly string[];
  readonly findLinks: readonly string[];
  readonly trustedHosts: readonly string[];
  readonly certificates: string | undefined;
  /** Whether only `findLinks` is searched, as on a machine without a network. */
  readonly noIndex: boolean;
}

/** Asks the pip of `python` for its settings, from its configuration files and variables; without a pip, the variables alone. */
export async function pipSettings(python: string, signal?: AbortSignal): Promise<PipSettings> {
  return (await askPip(python, signal)).settings;
}

/** The same, and the index that pip names in its help as its default. */
export async function askPip(
  python: string,
  signal?: AbortSignal,
): Promise<{ settings: PipSettings; defaultIndex: string | undefined }> {
  // COLUMNS: a help text that is broken into lines could break an address.
  const options = { signal, env: { COLUMNS: '1000' } };
  const program = readFileSync(join(packageRoot(), 'guest', 'bootstrap', 'ask_pip.py'), 'utf8');
  const { stdout } = await runCommand(
    python,
    ['-I', '-c', program, BETWEEN.trim(), 'config list', 'install --help'],
    options,
  );
  const [listed = '', help = ''] = stdout.split(BETWEEN);
  return { settings: parsePipSettings(listed, installerVariables()), defaultIndex: parseDefaultIndex(help) };
}

const BETWEEN = '--- next ---\n';

/** The address after `--index-url` in `pip install --help`, or `--default-index` in `uv help pip install`: `(default https://…)`, `(by default: <https://…>)`. */
export function parseDefaultIndex(help: string): string | undefined {
  const [, address] = /\((?:by )?default:?\s<?(https?:\/\/[^\s<>)]+)>?\)/.exec(help) ?? [];
  return address;
}

/**
 * Reads the output of `pip config list`: lines such as `global.index-url='https://…'`. Settings of `install` override
 * those of `global`, and variables override both.
 */
export function parsePipSettings(output: string, env: NodeJS.ProcessEnv): PipSettings {
  const found = new Map<string, string>();
  for (const section of ['global', 'install']) {
    for (const line of output.split('\n').filter((each) => each.startsWith(`${section}.`))) {
      const [, key, value] = /^[a-z]+\.([\w-]+)='(.*)'$/.exec(line) ?? [];
      if (key !== undefined) found.set(key, value!.replaceAll('\\n', ' '));
    }
  }
  const setting = (key: string) => env[`PIP_${key.toUpperCase().replaceAll('-', '_')}`] || found.get(key);
  const list = (key: string) => setting(key)?.split(/\s+/).filter(Boolean) ?? [];
  return {
    index: setting('index-url'),
    extraIndexes: list('extra-index-url'),
    findLinks: list('find-links'),
    trustedHosts: list('trusted-host'),
    noIndex: /^(1|y|yes|true|on)$/i.test(setting('no-index') ?? ''),
    certificates: setting('cert') ?? (env.REQUESTS_CA_BUNDLE || env.CURL_CA_BUNDLE || undefined),
  };
}

/**
 * The same settings as variables of uv, which does not read pip's. Variables that the user has set for uv win. Proxies
 * have the same variables for both.
 */
export function uvVariables(settings: PipSettings, env: NodeJS.ProcessEnv): Record<string, string> {
  const { index, extraIndexes, findLinks, trustedHosts, certificates } = settings;
  const wanted: Record<string, string> = {
    // The user's own index for uv is not overridden by pip's.
    ...(env.UV_INDEX_URL || env.UV_DEFAULT_INDEX || index === undefined ? {} : { UV_DEFAULT_INDEX: index }),
    ...(extraIndexes.length === 0 || env.UV_EXTRA_INDEX_URL ? {} : { UV_INDEX: extraIndexes.join(' ') }),
    // pip takes the best version of all indexes. Where the lock applies, its hashes decide which file is accepted.
    ...(extraIndexes.length === 0 ? {} : { UV_INDEX_STRATEGY: 'unsafe-best-match' }),
    ...(findLinks.length === 0 ? {} : { UV_FIND_LINKS: findLinks.join(',') }),
    ...(trustedHosts.length === 0 ? {} : { UV_INSECURE_HOST: trustedHosts.join(' ') }),
    ...(certificates === undefined ? {} : { SSL_CERT_FILE: certificates }),
  };
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => !env[name]));
}

/** The index for a person to read. SECURITY: without the name and password that it may contain. */
export function shownIndex({ index, noIndex, findLinks }: PipSettings, env: NodeJS.ProcessEnv): string {
  if (noIndex) return findLinks.map((link) => withoutPassword(link) ?? link).join(' ') || 'nowhere (no-index)';
  const configured = env.UV_DEFAULT_INDEX || env.UV_INDEX_URL || index;
  if (configured === undefined) return 'the default index';
  return withoutPassword(configured) ?? 'the configured index';
}

/** The address without name and password; undefined if it is no URL. */
function withoutPassword(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}
