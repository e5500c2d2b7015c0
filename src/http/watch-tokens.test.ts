import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openTokenStore } from './tokens/store.ts';
import { watchTokens } from './watch-tokens.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hotcell-watch-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('SECURITY: a holder whose work does not end does not delay the end of another’s', async () => {
  const tokens = openTokenStore(folder);
  const [ada, bob] = [await tokens.create('ada'), await tokens.create('bob')];
  const calls: string[] = [];
  const watch = watchTokens(
    tokens,
    (id) => {
      calls.push(id);
      return id === ada.id ? new Promise(() => {}) : Promise.resolve();
    },
    { everyMs: 5 },
  );
  try {
    for (const { id } of [ada, bob]) watch.seen(id);
    for (const name of ['ada', 'bob']) await tokens.revoke(name);
    // Repeatedly, because a request of his may still be on its way; and hers is not called again while it goes on.
    await vi.waitFor(() => expect(calls.filter((id) => id === bob.id).length).toBeGreaterThan(2));
    expect(calls.filter((id) => id === ada.id)).toHaveLength(1);
  } finally {
    watch.stop();
  }
});
