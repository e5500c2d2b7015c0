import { expect } from 'vitest';
import type { Requirement } from '../context.ts';
import { js, shownBy } from './javascript.ts';

const language = 'javascript';

/** What can be asked of a session of JavaScript between its executions. */
export const javascriptQuestionRequirements: readonly Requirement[] = [
  {
    id: 'javascript:complete',
    tag: 'guest',
    title: 'names and properties are completed from the live session, and nothing of the program runs for it',
    prove: async ({ fresh }) => {
      const session = await fresh();
      await js(
        session,
        "let ran = []; class Plant { get trap() { ran.push('getter'); return this } start() {} }\nconst plant = Object.assign(new Plant(), { output: 7 });\nconst proxy = new Proxy({}, { get() { ran.push('get') }, ownKeys() { ran.push('keys'); return [] }, getPrototypeOf() { ran.push('prototype'); return null } });",
      );
      const texts = async (code: string) =>
        (await session.complete(code, { language })).matches.map(({ text }) => text);
      expect(await session.complete('1 + pla', { language })).toEqual({
        matches: [{ text: 'plant', kind: 'variable' }],
        start: 4,
        end: 7,
      });
      expect(await texts('plant.')).toEqual(['output', 'start', 'trap']);
      expect(await texts('plant.trap.')).toEqual([]);
      expect(await texts('proxy.')).toEqual([]);
      expect(await texts('console.lo')).toEqual(['log']);
      expect(await texts('retu')).toEqual(['return']);
      expect(await shownBy(session, 'ran')).toBe('[]');
    },
  },
  {
    id: 'javascript:variables',
    tag: 'guest',
    title: 'variables are listed and read without running anything, and a result names those it added',
    prove: async ({ fresh }) => {
      const session = await fresh();
      const first = await js(
        session,
        "const list = [1, 'b', { c: 1 }]; var text = 'hello'; globalThis.g = 1; class A {}",
      );
      expect([...(first.variables?.added ?? [])].sort()).toEqual(['A', 'g', 'list', 'text']);
      expect((await js(session, 'list.length')).variables).toBeUndefined();
      const { total, variables } = await session.variables.list({ language });
      expect([total, variables.map(({ name, type }) => [name, type])]).toEqual([
        4,
        [
          ['A', 'Function'],
          ['g', 'number'],
          ['list', 'Array'],
          ['text', 'string'],
        ],
      ]);
      expect(await session.variables.get('list', { language, offset: 1, limit: 1 })).toMatchObject({
        type: 'Array',
        length: 3,
        summary: 'Array(3) [1, "b", Object]',
        page: { kind: 'items', items: [{ type: 'string', text: '"b"' }], offset: 1, total: 3 },
      });
      expect(await session.variables.get('list.slice(1).length', { language })).toMatchObject({ summary: '2' });
      await expect(session.variables.get('nothing', { language })).rejects.toMatchObject({
        code: 'variable_not_found',
      });
      await expect(session.variables.get('list.push(1)', { language })).rejects.toMatchObject({
        code: 'evaluation_failed',
      });
      await expect(session.variables.get('(() => { for (;;); })()', { language, timeoutMs: 500 })).rejects.toThrow();
      expect(await shownBy(session, 'list.length')).toBe('3');
    },
  },
];
