import type { Login } from './registry.ts';

const PARTS = new Set(['_authToken', '_auth', 'username', '_password']);
const VARIABLE = /^npm_config_(?=\/\/)/i;

/**
 * The logins in files of npm (`.npmrc`) and in its variables, by the address that each is for, without protocol and final slash: `//npm.example/team`. The file
 * that counts most comes first; variables count before files. SECURITY: of the host. npm itself shows them to no program, so they are read here.
 */
export function parseNpmLogins(texts: readonly string[], env: NodeJS.ProcessEnv): Map<string, Login> {
  const found = new Map<string, Map<string, string>>();
  const variables = Object.entries(env).map(([name, value]) => [name.replace(VARIABLE, ''), value ?? ''] as const);
  for (const [name, written] of [...variables, ...texts.flatMap((text) => text.split('\n').flatMap(settingOf))]) {
    const at = name.lastIndexOf(':');
    const [place, part] = [withoutFinalSlash(name.slice(0, at)), name.slice(at + 1)];
    const value = expanded(written, env);
    if (!name.startsWith('//') || !PARTS.has(part) || !value) continue;
    const parts = found.get(place) ?? new Map<string, string>();
    if (!parts.has(part)) parts.set(part, value);
    found.set(place, parts);
  }
  return new Map([...found].flatMap(([place, parts]) => loginOf(parts).map((login) => [place, login] as const)));
}

/** The login for an address: that of its own path, or of the nearest folder above it, as npm looks for it. */
export function npmLoginFor(address: string, logins: ReadonlyMap<string, Login>): Login | undefined {
  if (logins.size === 0 || !URL.canParse(address)) return undefined;
  const { host, pathname } = new URL(address);
  const names = pathname.split('/').filter((name) => name !== '');
  for (let length = names.length; length >= 0; length -= 1) {
    const login = logins.get(`//${[host, ...names.slice(0, length)].join('/')}`);
    if (login !== undefined) return login;
  }
  return undefined;
}

function withoutFinalSlash(place: string): string {
  return `//${place
    .split('/')
    .filter((name) => name !== '')
    .join('/')}`;
}

/** A line `name = value`; the value may be in quotation marks. */
function settingOf(line: string): [string, string][] {
  const at = line.indexOf('=');
  const name = line.slice(0, at).trim();
  if (at === -1 || /^[;#[]/.test(name)) return [];
  const value = line.slice(at + 1).trim();
  const isQuoted = value.length > 1 && ['"', "'"].includes(value[0]!) && value.at(-1) === value[0];
  return [[name, isQuoted ? value.slice(1, -1) : value]];
}

/** With the values of `${NAME}`. Undefined if there is no such variable. */
function expanded(value: string, env: NodeJS.ProcessEnv): string | undefined {
  let isWhole = true;
  const text = value.replace(/\$\{([^${}?]{1,200})(\?)?\}/g, (_, name: string, optional?: string) => {
    isWhole &&= env[name] !== undefined || optional !== undefined;
    return env[name] ?? '';
  });
  return isWhole ? text : undefined;
}

function loginOf(parts: ReadonlyMap<string, string>): Login[] {
  const token = parts.get('_authToken');
  if (token !== undefined) return [{ token }];
  const [username, password, both] = [parts.get('username'), parts.get('_password'), parts.get('_auth')];
  if (username !== undefined && password !== undefined) return [{ username, password: plain(password) }];
  const colon = both === undefined ? -1 : plain(both).indexOf(':');
  if (both === undefined || colon === -1) return [];
  return [{ username: plain(both).slice(0, colon), password: plain(both).slice(colon + 1) }];
}

function plain(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
