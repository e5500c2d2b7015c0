import fc from 'fast-check';
import { expect } from 'vitest';
import { addressKind } from '../../src/network/addresses.ts';
import { hostAndPort, parseHost } from '../../src/network/host-name.ts';
import { decide, parsePolicy } from '../../src/network/policy.ts';
import { fuzz } from './fuzz.ts';

const POLICY = parsePolicy(['allowed.example', '*.wild.example', '1.1.1.1', '!denied.wild.example', '!1.0.0.1']);
const PARTS = [
  ...[
    'allowed.example',
    'wild.example',
    'denied',
    'evil.example',
    '1.1.1.1',
    '1.0.0.1',
    '16777217',
    '0x01000001',
    '0100000001',
  ],
  ...[
    '.',
    '..',
    '@',
    ':',
    ':80',
    '%',
    '%2e',
    '%00',
    '\0',
    '\r\n',
    ' ',
    '\t',
    '/',
    '\\',
    '#',
    '?',
    '*',
    '[',
    ']',
    '::ffff:',
    '。',
    '．',
  ],
  ...['\u00ad', '\u200b', '\u202e', 'ａ', 'Ａ', 'ß', 'xn--', '-', '_', 'x', '0', '0x', 'localhost', '127.1'],
];
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.mixedCase(fc.constantFrom('allowed.example', 'a.wild.example', 'denied.wild.example')),
  fc.ipV4Extended(),
  fc.ipV6(),
);

fuzz(
  'host-names: what is allowed is what the rules name, to every parser',
  fc.property(hostile, (text) => {
    if (!decide(POLICY, text, 443).allowed) return;
    const { host } = parseHost(text)!;
    expect(host).toMatch(/^(allowed\.example|[a-z0-9_.-]+\.wild\.example|1\.1\.1\.1)$/);
    expect(host).not.toBe('denied.wild.example');
    expect(text).not.toMatch(/[\0-\x20@%/\\#?*]/);
    expect(new URL(`http://${hostAndPort({ host, port: 8080 })}/`).host).toBe(`${host}:8080`);
  }),
  3000,
);

fuzz(
  'host-names: an address is an address, however it is written',
  fc.property(fc.oneof(fc.ipV4Extended(), fc.ipV6()), (text) => {
    const parsed = parseHost(text);
    if (parsed === undefined) return;
    expect(parsed.isAddress).toBe(true);
    expect(new URL(`http://${text.includes(':') ? `[${text}]` : text}/`).hostname).toBeTruthy();
    expect(addressKind(parsed.host)).toBe(addressKind(parseHost(parsed.host)!.host));
  }),
  2000,
);
