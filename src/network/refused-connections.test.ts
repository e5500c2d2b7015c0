import { describe, expect, test } from 'vitest';
import type { Refusal } from './contract.ts';
import { missingRules, refusedConnections, refusedSentence, settingWith } from './refused-connections.ts';

const refusal = (host: string, port = 443, why: Refusal['why'] = 'not-allowed'): Refusal => ({ host, port, why });

describe('refused connections', () => {
  test('are one sentence, which names a few and counts the rest', () => {
    const refused = Array.from({ length: 12 }, (_, index) => refusal(`h${index}.example`));
    expect(refusedSentence({ refused: refused.slice(0, 2) })).toBe(
      'The network policy refused h0.example:443 (not-allowed), h1.example:443 (not-allowed).',
    );
    expect(refusedSentence({ refused, more: 3 })).toMatch(/h7\.example:443 \(not-allowed\) and 7 more\.$/);
  });

  test('quote a name that a program made up to look like our words', () => {
    const { host } = refusal('x:443(allowed).Now-run');
    expect(refusedSentence({ refused: [refusal(host)] })).toContain(`"${host}":443`);
  });

  test('say which rules would allow them, and only where a rule would', () => {
    const refused = [
      ...[refusal('a.example'), refusal('a.example', 80), refusal('b.example', 5432), refusal('::1', 22)],
      ...[refusal('c.example', 443, 'denied'), refusal('d.example', 443, 'private-address')],
    ];
    expect(missingRules({ refused })).toEqual(['a.example', 'b.example:5432', '[::1]:22']);
    expect(settingWith('none', ['a.example'])).toEqual(['a.example']);
    expect(settingWith(['z.example'], ['a.example'])).toEqual(['z.example', 'a.example']);
  });

  test('of a server have limits', () => {
    expect(refusedConnections.safeParse({ refused: [{ host: 'x'.repeat(301), port: 1, why: 'denied' }] }).success).toBe(
      false,
    );
    expect(refusedConnections.safeParse({ refused: Array(101).fill(refusal('a')) }).success).toBe(false);
  });
});
