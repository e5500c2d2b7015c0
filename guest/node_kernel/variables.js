/** The session's variables as V8's inspector describes them. */
import { Refusal } from './refusal.js';

const MAX_SUMMARY_CHARS = 200;
const MAX_TEXT_CHARS = 100_000;
const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

export async function listVariables({ ask, evaluate, defined, members, timeoutMs }) {
  const lexical = (await ask('Runtime.globalLexicalScopeNames')).names;
  const { result } = await ask('Runtime.evaluate', { expression: 'globalThis', objectGroup: 'question' });
  const globals = (await propertiesOf(ask, result, {})).map(({ name }) => name).filter((name) => defined.has(name));
  const wanted = String(members.filter ?? '').toLowerCase();
  const names = [...new Set([...lexical, ...globals])].filter((name) => name.toLowerCase().includes(wanted)).sort();
  const { offset = 0, limit = 100 } = members;
  const variables = [];
  for (const name of names.slice(offset, offset + Math.min(limit, 1000))) {
    variables.push({ name, ...(await summaryOf(name)) });
  }
  return { total: names.length, variables };

  async function summaryOf(name) {
    try {
      return summarised(await evaluate(name, timeoutMs));
    } catch {
      return { type: 'unknown', summary: '(it cannot be read yet)' }; // declared by code that failed before
    }
  }
}

export async function getVariable({ ask, evaluate, members, text, timeoutMs }) {
  const expression = text.trim();
  let value;
  try {
    value = await evaluate(NAME.test(expression) ? expression : `(${expression})`, timeoutMs);
  } catch (error) {
    if (NAME.test(expression) && /^ReferenceError/.test(error.message)) {
      throw new Refusal('no-variable', `there is no variable ${expression}`);
    }
    throw error;
  }
  const { offset = 0, limit = 100 } = members;
  return { ...summarised(value), page: await pageOf(ask, value, offset, Math.min(limit, 1000)) };
}

/** Own properties of a value, or those of its prototypes too. A proxy has none: to ask it would run it. */
export async function propertiesOf(ask, { objectId, subtype }, { inherited = false }) {
  if (objectId === undefined || subtype === 'proxy') return [];
  const { result } = await ask('Runtime.getProperties', {
    objectId,
    ownProperties: !inherited,
    generatePreview: true,
  });
  return result.filter(({ symbol }) => symbol === undefined);
}

async function pageOf(ask, value, offset, limit) {
  if (value.type === 'string') {
    const whole = String(value.value);
    return {
      kind: 'text',
      text: whole.slice(offset, offset + Math.min(limit, MAX_TEXT_CHARS)),
      offset,
      total: whole.length,
    };
  }
  if (value.objectId === undefined || value.subtype === 'proxy' || value.type === 'function') {
    return { kind: 'repr', text: described(value).slice(0, 20_000), truncated: described(value).length > 20_000 };
  }
  const properties = (await propertiesOf(ask, value, {})).filter(({ enumerable }) => enumerable);
  const page = properties.slice(offset, offset + limit);
  if (value.subtype === 'array' || value.subtype === 'typedarray') {
    return { kind: 'items', items: page.map((property) => item(property)), offset, total: properties.length };
  }
  const key = (name) => ({ type: 'string', text: name.slice(0, 1000) });
  const entries = page.map((property) => ({ key: key(property.name), value: item(property) }));
  return { kind: 'entries', entries, offset, total: properties.length };
}

function item({ value }) {
  if (value === undefined) return { type: 'accessor', text: '[Getter]' };
  return { type: typeOf(value), text: described(value).slice(0, 1000) };
}

function summarised(value) {
  const length = /^(?:\w*Array|Map|Set|Buffer)\((\d+)\)/.exec(value.description ?? '')?.[1];
  const text = described(value);
  return {
    type: typeOf(value),
    summary: text.length > MAX_SUMMARY_CHARS ? `${text.slice(0, MAX_SUMMARY_CHARS)}…` : text,
    ...(value.type === 'string'
      ? { length: value.value.length }
      : length === undefined
        ? {}
        : { length: Number(length) }),
  };
}

function typeOf({ type, subtype, className }) {
  return String(className ?? subtype ?? type).slice(0, 200);
}

function described({ type, value, description, unserializableValue, preview }) {
  if (type === 'string') return JSON.stringify(value.slice(0, 20_000));
  const name = String(description ?? unserializableValue ?? value);
  return type === 'object' && preview !== undefined ? `${name} ${previewed(preview)}` : name;
}

/** The first few properties, as V8 itself shows them to a person. */
function previewed({ subtype, properties, entries, overflow }) {
  const one = ({ type, value = type }) => (type === 'string' ? JSON.stringify(value) : value || type);
  const parts = entries
    ? entries.map(({ key, value }) =>
        key === undefined ? value.description : `${key.description} => ${value.description}`,
      )
    : properties.map((property) => (subtype === 'array' ? one(property) : `${property.name}: ${one(property)}`));
  const inside = [...parts, ...(overflow ? ['…'] : [])].join(', ');
  return subtype === 'array' ? `[${inside}]` : `{${inside}}`;
}
