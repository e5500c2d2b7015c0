import * as z from 'zod';
import { parseTarget, splitPort } from '../host-name.ts';

/** The name of a service: it is part of an environment variable and of a path in the sandbox. */
export const SERVICE_NAME = /^[a-z][a-z0-9-]{0,39}$/;
const name = z.string().regex(SERVICE_NAME, { error: 'not the name of a service: small letters, digits, -' });

/** `host:port` of a TCP server. The operator named it, so that it may be private. */
const address = z.string().max(300).refine(isAddress, { error: 'not host:port' });

/** The place on the host that the secret of a credential is read from. Never the secret itself: a configuration file is copied and shown. */
const secretSource = z.union([
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, { error: 'not the name of a variable' }) }),
  z.strictObject({ file: z.string().startsWith('/', { error: 'not an absolute path' }).max(4096) }),
  z.strictObject({
    command: z
      .array(z.string().min(1).max(4096))
      .min(1)
      .max(50)
      .refine(([program]) => program?.startsWith('/') === true, { error: 'not the absolute path of a program' }),
  }),
]);
export type SecretSource = z.infer<typeof secretSource>;

const baseUrl = z
  .string()
  .max(1000)
  .refine(isBase, { error: 'not an http or https URL without user, query and fragment' });

const credentialSchema = z.strictObject({
  url: baseUrl.describe('Address that the secret belongs to. Requests go nowhere else'),
  secret: secretSource.describe('Where the secret is read: `env`, `file` or `command`'),
  header: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, { error: 'not the name of a header' })
    .default('Authorization')
    .describe('Header that carries it'),
  scheme: z.enum(['Bearer', 'Basic', 'none']).default('Bearer').describe('How the header carries it'),
  user: z
    .string()
    .max(200)
    .regex(/^[^:\p{C}]*$/u, { error: 'has a colon or a control character' })
    .default('')
    .describe('User name of `Basic`'),
  links: z
    .boolean()
    .default(false)
    .describe('Whether links to the same address in pages of HTML and JSON lead through the credential, too'),
  readOnly: z
    .boolean()
    .default(false)
    .describe('Whether only GET and HEAD are passed on: the secret may read, and change nothing'),
});
export type Credential = z.infer<typeof credentialSchema>;

const MOST_SERVICES = 50;
const atMost = (value: Record<string, unknown>) => Object.keys(value).length <= MOST_SERVICES;

/** TCP servers by name, for the option `forwards`. */
export const forwardsSchema = z.record(name, address).refine(atMost, { error: `more than ${MOST_SERVICES}` });
/** Secrets by name, for the option `credentials`. */
export const credentialsSchema = z
  .record(name, credentialSchema)
  .refine(atMost, { error: `more than ${MOST_SERVICES}` });

/** Credentials as the configuration has them, with defaults left out. */
export type CredentialsInput = z.input<typeof credentialsSchema>;

/** The services that the operator has named. A name is either a forward or a credential. */
export interface Upstreams {
  readonly forwards: z.infer<typeof forwardsSchema>;
  readonly credentials: z.infer<typeof credentialsSchema>;
}

export const NO_UPSTREAMS: Upstreams = { forwards: {}, credentials: {} };

export function upstreamNames({ forwards, credentials }: Upstreams): string[] {
  return [...Object.keys(forwards), ...Object.keys(credentials)];
}

function isBase(text: string): boolean {
  if (!URL.canParse(text) || text.includes('%')) return false;
  const { protocol, username, password, search, hash, pathname } = new URL(text);
  const bare = username === '' && password === '' && search === '' && hash === '';
  return /^https?:$/.test(protocol) && bare && !pathname.includes('//');
}

function isAddress(text: string): boolean {
  const split = splitPort(text);
  return split?.port !== undefined && parseTarget({ host: split.host, port: split.port }) !== undefined;
}
