import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, describe, expect, test } from 'vitest';
import { readCaBundle } from './ca-bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'hc-ca-'));
afterAll(() => rmSync(folder, { recursive: true }));

const read = (environment: Record<string, string>, bundles: string[], mostBytes = 1_048_576) =>
  readCaBundle(environment, { mostBytes, bundles });

function pem(name: string): string {
  return `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----`;
}

function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe('the bundle', () => {
  const usual = file('usual', `# Root\n${pem('Root')}\n`);

  test('is the one of the distribution, with those that Node was given, each once', async () => {
    const extra = file('extra', `${pem('Extra')}\r\n${pem('Root')}`);
    const bundle = await read({ NODE_EXTRA_CA_CERTS: extra }, [join(folder, 'missing'), usual]);
    expect(bundle.toString()).toBe(`${pem('Extra')}\n${pem('Root')}\n`);
  });

  test('is the one that the operator named', async () => {
    const own = file('own', pem('Own'));
    expect((await read({ SSL_CERT_FILE: own }, [usual])).toString()).toBe(`${pem('Own')}\n`);
    expect((await read({ SSL_CERT_FILE: join(folder, 'missing') }, [usual])).toString()).toContain('Root');
  });

  test('has no private key that stands beside a certificate', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----';
    const own = file('with-key', `${key}\n${pem('Own')}\n${key}`);
    expect((await read({ SSL_CERT_FILE: own }, [])).toString()).toBe(`${pem('Own')}\n`);
  });

  test('is that of Node where the host has none', async () => {
    expect((await read({}, [])).toString()).toContain(rootCertificates[0]!.trim());
  });

  test('is never larger than a guest takes, and keeps what the host added', async () => {
    const many = file(
      'many',
      Array.from({ length: 400 }, (_, index) => pem(`${index}${'A'.repeat(4_000)}`)).join('\n'),
    );
    const bundle = await read({ SSL_CERT_FILE: many, NODE_EXTRA_CA_CERTS: file('own-ca', pem('Mine')) }, []);
    expect(bundle.length).toBeLessThanOrEqual(1_048_576);
    expect(bundle.toString()).toContain(pem('Mine'));
  });
});
