import { propertiesOf } from './variables.js';

const CHAIN =
  /([\p{ID_Start}$_][\p{ID_Continue}$]*(?:(?:\?\.|\.)[\p{ID_Start}$_][\p{ID_Continue}$]*)*(?:\?\.|\.))?([\p{ID_Continue}$]*)$/u;
const MAX_MATCHES = 200;
const MAX_TEXT_CHARS = 200;
const OURS = /^__hotcell/;
/** Every object has these: who wants one writes its first letter. */
const OF_EVERYTHING = new Set(Object.getOwnPropertyNames(Object.prototype));
const KEYWORDS =
  'async await break case catch class const continue debugger default delete do else export extends false finally for from function if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while with yield'.split(
    ' ',
  );

/** What could be written at the cursor: properties after a dot, names and words of the language elsewhere. */
export async function completion({ ask, evaluate, members, text, timeoutMs }) {
  const before = [...text].slice(0, Number(members.cursor)).join('');
  const [, chain, prefix] = CHAIN.exec(before);
  const end = Number(members.cursor);
  const start = end - [...prefix].length;
  const found = chain === undefined ? await namesOf(ask, prefix) : await propertiesAfter(chain);
  const matches = found
    .filter(
      ({ text: name }) =>
        name.length <= MAX_TEXT_CHARS &&
        name.startsWith(prefix) &&
        !OURS.test(name) &&
        (prefix !== '' || !OF_EVERYTHING.has(name)),
    )
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .slice(0, MAX_MATCHES);
  return { matches, start, end };

  async function propertiesAfter(expression) {
    try {
      const value = await evaluate(`Object(${expression.replace(/\??\.$/, '')})`, timeoutMs);
      return (await propertiesOf(ask, value, { inherited: true }))
        .filter(({ name }) => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name))
        .map(({ name, value: held }) => ({ text: name, kind: held?.type === 'function' ? 'function' : 'property' }));
    } catch {
      return []; // it is not there, or to look at it would run something
    }
  }
}

async function namesOf(ask, prefix) {
  const lexical = (await ask('Runtime.globalLexicalScopeNames')).names.map((text) => ({ text, kind: 'variable' }));
  const { result } = await ask('Runtime.evaluate', { expression: 'globalThis', objectGroup: 'question' });
  const globals = (await propertiesOf(ask, result, {})).map(({ name, value }) => ({
    text: name,
    kind: value?.type === 'function' ? 'function' : 'variable',
  }));
  const words = prefix === '' ? [] : KEYWORDS.map((text) => ({ text, kind: 'keyword' }));
  return [...new Map([...words, ...globals, ...lexical].map((match) => [match.text, match])).values()];
}
