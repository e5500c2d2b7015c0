/** A registry that this host's tools are configured for. */
export interface Registry {
  /** The address, of http or https, without a login. */
  readonly url: string;
  /** SECURITY: of the host. It never enters a sandbox, a log or an error. */
  readonly login?: Login;
}

/** A name with a password (HTTP's Basic), or a token alone (Bearer). */
export type Login = BasicLogin | TokenLogin;

export interface BasicLogin {
  readonly username: string;
  readonly password: string;
}

export interface TokenLogin {
  readonly token: string;
}

/** Splits the login off an address. Undefined if it is not an address of http or https. */
export function registryAt(address: string, login?: Login): Registry | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
  const found = { username: decoded(url.username), password: decoded(url.password) };
  url.username = '';
  url.password = '';
  url.hash = '';
  const own = found.username === '' && found.password === '' ? login : found;
  return { url: url.href, ...(own === undefined ? {} : { login: own }) };
}

/** A folder of this host with files of packages, or laid out as an index. */
export interface RegistryFolder {
  readonly folder: string;
}

/** A registry, or a folder written as a path or as `file://`. Undefined if it is neither. */
export function placeAt(address: string, login?: Login): Registry | RegistryFolder | undefined {
  if (address.startsWith('/')) return { folder: address };
  if (!address.startsWith('file:') || !URL.canParse(address)) return registryAt(address, login);
  const { host, pathname } = new URL(address);
  return host === '' ? { folder: decoded(pathname) } : undefined;
}

export function isFolder(place: Registry | RegistryFolder): place is RegistryFolder {
  return 'folder' in place;
}

/** The header that carries a login. */
export function authorizationOf(login: Login): string {
  if ('token' in login) return `Bearer ${login.token}`;
  return `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
}

/** A percent sign that encodes nothing stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
