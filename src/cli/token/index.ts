import { loadConfig, resolveDataDir } from '../../config/load.ts';
import { HotcellError } from '../../errors/hotcell-error.ts';
import { openTokenStore, type TokenQuotas, type TokenRecord } from '../../http/tokens/store.ts';
import { sizeText } from '../../lib/units.ts';
import { refuseLoopbackRules } from '../../network/loopback-rules.ts';
import { settingText } from '../../network/session-rules.ts';
import { openTelemetry } from '../../telemetry/telemetry.ts';
import { standardOutputs } from '../output.ts';
import { shownName } from '../print.ts';
import { sizeBytes } from '../run/options.ts';
import { closeAllOf } from '../sessions/index.ts';

/** The flags as typed. */
export interface CreateFlags {
  readonly maxSessions?: string;
  readonly maxMemory?: string;
  readonly maxExecutions?: string;
  readonly maxUpload?: string;
  readonly network?: readonly string[];
  readonly service?: readonly string[];
  readonly install?: boolean;
  readonly json?: boolean;
}

export async function createToken(name: string, flags: CreateFlags): Promise<void> {
  if (flags.network !== undefined) refuseLoopbackRules(flags.network);
  const { text, ...token } = await store().create(name, {
    ...quotasOf(flags),
    network: flags.network,
    services: flags.service,
    mayInstall: flags.install,
  });
  await note('token-created', token);
  const { stdout, stderr } = standardOutputs();
  if (flags.json) return stdout.json({ ...token, token: text });
  await stdout.say(text);
  await stderr.say(
    `hotcell: this is the token of ${name}. Save it now: only its hash is stored, and it is not shown again.`,
  );
}

export async function listTokens(flags: { json?: boolean }): Promise<void> {
  const tokens = await store().list();
  const { stdout, stderr } = standardOutputs();
  if (flags.json) return stdout.json(tokens);
  if (tokens.length === 0) await stderr.say('hotcell: there are no tokens. Create one: hotcell token create <name>');
  for (const token of tokens) await stdout.say(lineOf(token));
}

export async function revokeToken(which: string, flags: { json?: boolean }): Promise<void> {
  const { stdout } = standardOutputs();
  const token = await store()
    .revoke(which)
    .catch(async (error: unknown) => {
      // A session of a token that is revoked already could not be ended then.
      if ((await closeAllOf(which)) === 0) throw error;
    });
  if (token === undefined) {
    return flags.json ? stdout.json({ id: which }) : stdout.say(`Ended the sessions of ${shownName(which)}.`);
  }
  await note('token-revoked', token);
  await closeAllOf(token.id);
  await (flags.json ? stdout.json(token) : stdout.say(`Revoked ${token.name} (${token.id}).`));
}

/** Writes the change to the audit log, where it belongs as much as what the token's holder does. */
async function note(
  event: 'token-created' | 'token-revoked',
  { id, quotas, network, services, mayInstall }: TokenRecord,
): Promise<void> {
  const telemetry = await openTelemetry(loadConfig(), resolveDataDir(), { metrics: false });
  telemetry.feed.emit({
    event,
    owner: id,
    via: 'hotcell token',
    policy: {
      ...quotas,
      ...(network === undefined ? {} : { network }),
      ...(services === undefined ? {} : { services }),
      ...(mayInstall === undefined ? {} : { mayInstall }),
    },
  });
  await telemetry.close();
}

function store() {
  return openTokenStore(resolveDataDir());
}

function quotasOf(flags: CreateFlags): TokenQuotas {
  return {
    ...(flags.maxSessions === undefined ? {} : { sessions: wholeNumber('--max-sessions', flags.maxSessions, 10_000) }),
    ...(flags.maxMemory === undefined ? {} : { memoryBytes: sizeBytes('--max-memory', flags.maxMemory) }),
    ...(flags.maxExecutions === undefined
      ? {}
      : { executions: wholeNumber('--max-executions', flags.maxExecutions, 100_000) }),
    ...(flags.maxUpload === undefined ? {} : { uploadBytes: sizeBytes('--max-upload', flags.maxUpload) }),
  };
}

function wholeNumber(flag: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new HotcellError('invalid_argument', `${flag}: ${text} is not a whole number from 1 to ${most}`, {
    remedy: `For example: ${flag} 2. Omit it for the default in docs/configuration.md.`,
  });
}

function lineOf({ id, name, createdAt, lastUsedAt, quotas, network, services, mayInstall }: TokenRecord): string {
  const limits = [
    ...(quotas.sessions === undefined ? [] : [`${quotas.sessions} sessions`]),
    ...(quotas.memoryBytes === undefined ? [] : [`${sizeText(quotas.memoryBytes)} of memory`]),
    ...(quotas.executions === undefined ? [] : [`${quotas.executions} executions`]),
    ...(quotas.uploadBytes === undefined ? [] : [`uploads to ${sizeText(quotas.uploadBytes)}`]),
    ...(network === undefined ? [] : [`network ${settingText(network)}`]),
    ...(services === undefined ? [] : [`services ${services.join(', ')}`]),
    ...(mayInstall === true ? ['installs packages'] : []),
  ];
  const used = lastUsedAt === undefined ? 'never used' : `last used ${lastUsedAt.slice(0, 16)}Z`;
  return [id, name, `created ${createdAt.slice(0, 10)}`, used, ...limits].join('  ');
}
