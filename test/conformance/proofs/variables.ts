import { expect } from 'vitest';
import type { Session } from '../../../src/index.ts';
import type { Requirement } from '../context.ts';

const NEEDS_PACKAGES = { bare: 'needs what the environment has; proved on every real driver' };

const namesOf = async (session: Session, options = {}) =>
  (await session.variables.list(options)).variables.map(({ name }) => name);

export const variableRequirements: readonly Requirement[] = [
  {
    id: 'variables:list',
    tag: 'guest',
    title:
      'variables are listed with type, size, length and a few words, page by page, without modules and hidden names',
    prove: async ({ fresh }) => {
      const session = await fresh();
      expect(await session.variables.list()).toEqual({ variables: [], total: 0 });
      await session.run(
        'import math\nnumber = 42\ntext = "a" * 1000\nitems = list(range(5000))\n_hidden = 1\ndef work(): pass\nclass Tool: pass\ntool = Tool()\nＮame = größe = 1',
      );
      const { variables, total } = await session.variables.list();
      expect(total).toBe(8);
      expect(variables.slice(0, 5)).toEqual([
        { name: 'number', type: 'int', summary: '42', sizeBytes: expect.any(Number) },
        {
          name: 'text',
          type: 'str',
          summary: expect.stringMatching(/^'a+'…$/),
          length: 1000,
          sizeBytes: expect.any(Number),
        },
        {
          name: 'items',
          type: 'list',
          summary: expect.stringMatching(/^\[0, 1, 2,.*…\]$/),
          length: 5000,
          sizeBytes: expect.any(Number),
        },
        { name: 'work', type: 'function', summary: 'function work' },
        { name: 'Tool', type: 'type', summary: 'class Tool' },
      ]);
      expect(variables[5]).toMatchObject({
        name: 'tool',
        type: 'Tool',
        summary: expect.stringContaining('Tool object'),
      });
      expect(variables.slice(6).map(({ name }) => name)).toEqual(['Name', 'größe']);
      expect(await namesOf(session, { limit: 2, offset: 1 })).toEqual(['text', 'items']);
      expect(await namesOf(session, { filter: 'TE' })).toEqual(['text', 'items']);
      expect(await namesOf(session, { hidden: true, filter: 'hid' })).toEqual(['_hidden']);
      expect(await namesOf(session, { modules: true, filter: 'math' })).toEqual(['math']);
      expect(await session.variables.list({ offset: 100 })).toEqual({ variables: [], total: 8 });
    },
  },
  {
    id: 'variables:get',
    tag: 'guest',
    title: 'a variable or an expression is read in pages: text, bytes, lists, dicts, sets',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run(
        'text = "äöü😀" * 1000\nraw = bytes(range(256))\nitems = [1, "two", [3]] * 100\nentries = {i: str(i) for i in range(500)}\nmany = set(range(500))\nclass Mine(list): pass\nmine = Mine([7, 8, 9])',
      );
      const page = async (what: string, options = {}) => (await session.variables.get(what, options)).page;
      expect(await page('text', { offset: 2, limit: 3 })).toEqual({
        kind: 'text',
        text: 'ü😀ä',
        offset: 2,
        total: 4000,
      });
      expect(await page('raw', { offset: 250 })).toEqual({
        kind: 'bytes',
        data: Buffer.from([250, 251, 252, 253, 254, 255]),
        offset: 250,
        total: 256,
      });
      expect(await page('items', { offset: 298, limit: 5 })).toEqual({
        kind: 'items',
        items: [
          { type: 'str', text: "'two'" },
          { type: 'list', text: '[3]' },
        ],
        offset: 298,
        total: 300,
      });
      expect(await page('entries', { offset: 499 })).toEqual({
        kind: 'entries',
        entries: [{ key: { type: 'int', text: '499' }, value: { type: 'str', text: "'499'" } }],
        offset: 499,
        total: 500,
      });
      expect(await page('many', { limit: 20 })).toMatchObject({ kind: 'items', total: 500 });
      expect(await page('mine')).toMatchObject({
        kind: 'items',
        total: 3,
        items: [{ text: '7' }, { text: '8' }, { text: '9' }],
      });
      expect(await session.variables.get('len(items) * 2')).toMatchObject({
        type: 'int',
        summary: '600',
        page: { kind: 'repr', text: '600', truncated: false },
      });
      await expect(session.variables.get('nothing')).rejects.toMatchObject({ code: 'variable_not_found' });
      await expect(session.variables.get('1 / 0')).rejects.toMatchObject({
        code: 'evaluation_failed',
        message: expect.stringContaining('ZeroDivisionError: division by zero'),
      });
      await expect(session.variables.get('x = 1')).rejects.toMatchObject({ code: 'evaluation_failed' });
      await expect(session.variables.get('raise SystemExit')).rejects.toMatchObject({ code: 'evaluation_failed' });
      await expect(session.variables.get('exit(3)')).rejects.toMatchObject({ code: 'evaluation_failed' });
      await expect(session.variables.get('text', { offset: -1 })).rejects.toMatchObject({ code: 'invalid_argument' });
      expect((await session.run('len(raw)')).value?.text).toBe('256');
    },
  },
  {
    id: 'variables:frames',
    tag: 'guest',
    title: 'frames and arrays are read by rows and columns, and a frame of gigabytes costs no more than a small one',
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      const session = await fresh();
      const made = await session.run(`import numpy as np, pandas as pd
df = pd.DataFrame({"n": range(1000), "city": "Bonn", "when": pd.Timestamp("2020-02-03")})
endless = np.broadcast_to(np.float64(0.5), (10**7, 10**6))
np.memmap("sparse.bin", dtype="int8", mode="w+", shape=(1,))[:] = 1
import os; os.truncate("sparse.bin", 10**9)
mapped = np.memmap("sparse.bin", dtype="int8", mode="r", shape=(10**6, 1000))
wide = pd.DataFrame(np.broadcast_to(np.float64(1), (10**8, 20)), copy=False)
series = df["n"]`);
      expect(made.outcome).toEqual({ kind: 'ok' });
      const begin = performance.now();
      const { variables } = await session.variables.list();
      const tookMs = performance.now() - begin;
      const by = Object.fromEntries(variables.map((variable) => [variable.name, variable]));
      expect(by.df).toMatchObject({ type: 'pandas.DataFrame', shape: [1000, 3], length: 1000 });
      expect(by.df?.summary).toMatch(/^1,000 rows × 3 columns: n int64, city \w+, when datetime64/);
      expect(by.endless).toMatchObject({ shape: [10 ** 7, 10 ** 6], sizeBytes: 8e13 });
      expect(by.mapped).toMatchObject({ shape: [10 ** 6, 1000] });
      expect(by.wide).toMatchObject({ shape: [10 ** 8, 20] });
      expect(by.wide?.sizeBytes).toBeGreaterThan(1e10);
      expect(by.series).toMatchObject({ type: 'pandas.Series', shape: [1000] });
      expect(tookMs).toBeLessThan(2000);
      expect((await session.variables.get('df', { offset: 998, columnOffset: 1, columnLimit: 1 })).page).toEqual({
        kind: 'rows',
        columns: [{ name: 'city', type: expect.any(String) }],
        index: ['998', '999'],
        rows: [['Bonn'], ['Bonn']],
        offset: 998,
        total: 1000,
        columnOffset: 1,
        totalColumns: 3,
      });
      const far = await session.variables.get('endless', { offset: 10 ** 7 - 1, columnOffset: 10 ** 6 - 2 });
      expect(far.page).toMatchObject({ rows: [['0.5', '0.5']], total: 10 ** 7, totalColumns: 10 ** 6 });
      const full = await session.variables.get('wide', { limit: 1000, columnLimit: 20 });
      expect(full.page.kind === 'rows' && full.page.rows.length).toBe(1000);
      expect((await session.complete('df["ci')).matches).toEqual([{ text: 'city', kind: 'key' }]);
    },
  },
  {
    id: 'variables:set',
    tag: 'guest',
    title: 'bytes of the host become variables without passing through source text',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const text = 'quotes """ \'\'\' \\ \0 \u2028 😀\n'.repeat(10);
      expect(await session.variables.set('größe', text)).toMatchObject({ name: 'größe', type: 'str', length: 230 });
      expect((await session.variables.get('größe')).page).toMatchObject({ text });
      await session.variables.set('raw', Buffer.from([0, 255, 128]));
      await session.variables.set('data', '{"a": [1, 2.5, null, "ß"]}', { as: 'json' });
      expect((await session.run('(raw, data)')).value?.text).toBe("(b'\\x00\\xff\\x80', {'a': [1, 2.5, None, 'ß']})");
      async function* pieces() {
        for (let index = 0; index < 40; index += 1) yield Buffer.alloc(524_288, 97 + (index % 26));
      }
      expect(await session.variables.set('large', pieces(), { as: 'text' })).toMatchObject({ length: 20_971_520 });
      expect((await session.run('(len(large), large[-1], type(large).__name__)')).value?.text).toBe(
        "(20971520, 'n', 'str')",
      );
      expect(await session.variables.set('empty', '')).toMatchObject({ length: 0 });
      for (const name of ['', 'a b', 'class', '1x', '__builtins__', 'a;b', 'x'.repeat(70_000)]) {
        await expect(session.variables.set(name, 'x'), name.slice(0, 20)).rejects.toMatchObject({
          code: 'invalid_argument',
        });
      }
      await expect(session.variables.set('bad', '{"a": ', { as: 'json' })).rejects.toMatchObject({
        code: 'evaluation_failed',
      });
      await expect(session.variables.set('bad', '['.repeat(200_000), { as: 'json' })).rejects.toMatchObject({
        code: 'evaluation_failed',
      });
      await expect(session.variables.set('bad', Buffer.from([255]), { as: 'text' })).rejects.toMatchObject({
        code: 'evaluation_failed',
      });
      async function* broken() {
        yield Buffer.alloc(100_000);
        throw new Error('the source broke');
      }
      await expect(session.variables.set('bad', broken())).rejects.toThrow('the source broke');
      expect(await namesOf(session)).not.toContain('bad');
      expect((await session.run('ls = __import__("os").listdir()\nls')).value?.text).toBe('[]');
    },
  },
  {
    id: 'variables:set-frames',
    tag: 'guest',
    title: 'CSV and parquet become frames',
    exempt: NEEDS_PACKAGES,
    prove: async ({ fresh }) => {
      const session = await fresh();
      const rows = Array.from({ length: 50_000 }, (_, row) => `${row},name ${row},${row / 4}`);
      const csv = `id,name,score\n${rows.join('\n')}\n`;
      expect(await session.variables.set('people', csv, { as: 'csv' })).toMatchObject({
        type: 'pandas.DataFrame',
        shape: [50_000, 3],
      });
      expect((await session.run('people.to_parquet("people.parquet")\nfloat(people.score.sum())')).outcome).toEqual({
        kind: 'ok',
      });
      const parquet = await session.files.read('people.parquet');
      expect(await session.variables.set('again', parquet, { as: 'parquet' })).toMatchObject({ shape: [50_000, 3] });
      expect((await session.run('bool((people == again).all().all())')).value?.text).toBe('True');
      await expect(session.variables.set('bad', 'no parquet', { as: 'parquet' })).rejects.toMatchObject({
        code: 'evaluation_failed',
      });
      expect(
        (await session.run('import sys\nfor name in ("pandas", "pyarrow", "fastparquet"): sys.modules[name] = None'))
          .outcome,
      ).toEqual({ kind: 'ok' });
      await expect(session.variables.set('bad', csv, { as: 'csv' })).rejects.toMatchObject({ code: 'package_missing' });
      await expect(session.variables.set('bad', parquet, { as: 'parquet' })).rejects.toMatchObject({
        code: 'package_missing',
      });
    },
  },
  {
    id: 'variables:changes',
    tag: 'guest',
    title: 'a result names the variables that were added, bound anew or deleted, and no others',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const changes = async (code: string) => (await session.run(code)).variables;
      expect(await changes('import os\na = 1\nb = [1]\n_c = 2\ndef f():\n    global g\n    g = object()')).toEqual({
        added: ['a', 'b', 'f'],
        rebound: [],
        deleted: [],
        omitted: 0,
      });
      expect(await changes('1 + 1')).toBeUndefined();
      expect(await changes('b.append(2); a')).toBeUndefined();
      expect(await changes('f()')).toMatchObject({ added: ['g'] });
      expect(await changes('f()')).toMatchObject({ added: [], rebound: ['g'] });
      expect(await changes('a = 2; b = []; del f')).toEqual({
        added: [],
        rebound: ['a', 'b'],
        deleted: ['f'],
        omitted: 0,
      });
      expect(await changes('for i in range(1000): pass\nraise ValueError')).toMatchObject({ added: ['i'] });
      expect(await changes('for i in range(2000): pass')).toMatchObject({ rebound: ['i'] });
      expect(await changes('globals().update({f"n{i}": i for i in range(300)})')).toMatchObject({ omitted: 200 });
      await session.variables.set('given', 'x');
      expect(await changes('print(given)')).toBeUndefined();
      await session.run('globals().update({f"m{i}": i for i in range(100_000)})');
      expect(await changes('a = 3\nnew = 1')).toEqual({ added: ['new'], rebound: ['a'], deleted: [], omitted: -1 });
    },
  },
  {
    id: 'variables:many',
    tag: 'guest',
    title: 'a hundred thousand names are listed page by page and completed in time',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await session.run('globals().update({f"name_{i}": i for i in range(100_000)})');
      const { variables, total } = await session.variables.list({ offset: 99_990, limit: 1000 });
      expect([total, variables.length, variables[0]?.name]).toEqual([100_000, 10, 'name_99990']);
      expect((await session.complete('name_9999')).matches).toHaveLength(11);
    },
  },
];
