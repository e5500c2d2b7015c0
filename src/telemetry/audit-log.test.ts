import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditEntry } from './audit.ts';
import { createAuditLog } from './audit-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-audit-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const entry = (session: string): AuditEntry => ({ event: 'session-closed', owner: 'ada', session, outcome: 'asked' });
const parse = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const linesOf = (name = 'audit.jsonl') => parse(readFileSync(join(folder, 'a', name), 'utf8'));
const opened = (options: Partial<Parameters<typeof createAuditLog>[1]> = {}) =>
  createAuditLog(join(folder, 'a'), { fileBytes: 1_000_000, files: 3, now: () => new Date(0), ...options });

describe('the audit log', () => {
  test('keeps one object per line, in order, readable only by its owner', async () => {
    const log = opened();
    for (const name of ['one', 'two']) log.record(entry(name));
    await log.close();
    expect(linesOf()).toEqual(
      ['one', 'two'].map((session) => ({ time: '1970-01-01T00:00:00.000Z', ...entry(session) })),
    );
    expect(statSync(join(folder, 'a', 'audit.jsonl')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o700);
  });

  test('cuts long texts and long lists, which a caller chooses', async () => {
    const log = opened();
    const network = Array.from({ length: 100 }, (_, index) => `!${'x'.repeat(400)}${index}`);
    log.record({ event: 'network-changed', owner: 'ada', session: 's-1', policy: { network } });
    await log.close();
    const [{ policy }] = linesOf() as [{ policy: { network: string[] } }];
    expect(policy.network).toHaveLength(21);
    expect(policy.network.at(-1)).toBe('… and 80 more');
    expect(policy.network[0]).toHaveLength(301);
  });

  test('creates no file before the first entry', async () => {
    await opened().close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('writes entries after a short delay', async () => {
    const log = opened();
    log.record(entry('one'));
    await expect.poll(() => linesOf().length).toBe(1);
    await log.close();
  });

  test('truncates long values, so that no entry contains a whole file', async () => {
    const log = opened();
    log.record({ event: 'file-written', owner: 'ada', path: 'x'.repeat(100_000) });
    await log.close();
    expect(readFileSync(join(folder, 'a', 'audit.jsonl')).length).toBeLessThan(500);
  });

  test('aggregates repeated refusals of one owner, so that they cannot flood the log', async () => {
    const log = opened();
    const refused = (owner: string, session: string): AuditEntry => ({
      event: 'refused',
      owner,
      session,
      refusal: 'session_not_found',
    });
    for (let n = 0; n < 10_000; n += 1) log.record(refused('mallory', `guess-${n}`));
    log.record(refused('ada', 'typo'));
    await log.flush();
    log.record(refused('mallory', 'again'));
    await log.close();
    expect(linesOf()).toMatchObject([
      { owner: 'mallory', session: 'guess-0' },
      { owner: 'ada', session: 'typo' },
      { owner: 'mallory', session: 'guess-9999', times: 9_999 },
      { owner: 'mallory', session: 'again' },
    ]);
  });

  test('writes aggregated entries after a period, and the first of a dropped kind at once', async () => {
    const log = opened({ repeatsEveryMs: 200 });
    const refused: AuditEntry = { event: 'refused', owner: 'unknown', via: '/mcp', refusal: 'unauthorized' };
    for (let n = 0; n < 4; n += 1) log.record(refused);
    await expect.poll(() => linesOf().map(({ times }) => times)).toEqual([undefined, 3]);
    for (let n = 0; n < 2; n += 1) log.record(refused);
    await expect.poll(() => linesOf().length).toBeGreaterThan(2);
    await log.close();
    expect(linesOf().reduce((sum, { times }) => sum + Number(times ?? 1), 0)).toBe(6);
  });

  test('rotates full files, and keeps a fixed number', async () => {
    const log = opened({ fileBytes: 1000, files: 3 });
    for (let n = 0; n < 60; n += 1) {
      log.record(entry(`s${n}`));
      await log.flush();
    }
    await log.close();
    expect(readdirSync(join(folder, 'a')).sort()).toEqual(['audit.1.jsonl', 'audit.2.jsonl', 'audit.jsonl']);
    const sessions = ['audit.2.jsonl', 'audit.1.jsonl', 'audit.jsonl'].flatMap((name) =>
      linesOf(name).map(({ session }) => session),
    );
    expect(sessions).toEqual(Array.from({ length: sessions.length }, (_, n) => `s${60 - sessions.length + n}`));
  });

  test('is shared by servers that write and rotate at the same time, without torn or lost lines', async () => {
    const logs = [0, 1, 2].map(() => opened({ fileBytes: 5000, files: 100 }));
    for (let n = 0; n < 50; n += 1) {
      await Promise.all(
        logs.map((log, server) => {
          log.record(entry(`${server}-${n}`));
          return log.flush();
        }),
      );
    }
    await Promise.all(logs.map((log) => log.close()));
    const sessions = readdirSync(join(folder, 'a')).flatMap((name) => linesOf(name).map(({ session }) => session));
    expect(new Set(sessions).size).toBe(150);
    expect(sessions.length).toBe(150);
  }, 20_000);

  test('does not fail its callers when the disk is full, reports it once, and counts lost entries', async () => {
    const failures: unknown[] = [];
    const log = opened({ fileBytes: 1e9, onFailure: (error) => failures.push(error) });
    log.record(entry('first'));
    await log.flush();
    rmSync(join(folder, 'a', 'audit.jsonl'));
    symlinkSync('/dev/full', join(folder, 'a', 'audit.jsonl'));
    for (let n = 0; n < 60_000; n += 1) log.record(entry(`${n}-${'x'.repeat(200)}`));
    await log.flush();
    await log.flush();
    expect(failures).toMatchObject([{ code: 'ENOSPC' }]);
    rmSync(join(folder, 'a', 'audit.jsonl'));
    await log.flush();
    log.record(entry('last'));
    await log.flush();
    await log.close();
    const kept = linesOf();
    const lost = kept.find(({ event }) => event === 'entries-lost');
    expect(kept.map(({ session }) => session)).toContain('last');
    expect(Number(lost?.count)).toBeGreaterThan(1000);
    expect(Number(lost?.count) + kept.length - 2).toBe(60_000);
  });
});
