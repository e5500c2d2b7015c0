/** `import` and `export` of a module, in a session that is none: names are bound as by `const`, and stay. */
import { parse } from 'sucrase/dist/esm/parser/index.js';
import { TokenType as tt } from 'sucrase/dist/esm/parser/tokenizer/types.js';

/** The code with every import made dynamic. What cannot be parsed is left as it is: V8 says best what is wrong with it. */
export function rewriteModuleSyntax(code, isTypeScript) {
  let tokens;
  try {
    tokens = parse(code, false, false, false).tokens;
  } catch {
    return code;
  }
  const walk = createWalk(code, tokens);
  const edits = [];
  for (let index = 0; index < tokens.length; index += 1) {
    const { type } = tokens[index];
    // In `import.meta` it counts as a name.
    if (type === tt._import || (walk.text(index) === 'import' && walk.text(index + 1) === '.'))
      edits.push(importEdit(walk, index, isTypeScript));
    else if (type === tt._export) edits.push(...exportEdits(walk, index));
  }
  return applied(code, edits.filter(Boolean));
}

function createWalk(code, tokens) {
  const text = (index) => (tokens[index] === undefined ? '' : code.slice(tokens[index].start, tokens[index].end));
  return {
    text,
    start: (index) => tokens[index].start,
    end: (index) => tokens[index].end,
    /** The first at or after `index` that is a text in quotes: where a statement names its module. */
    source(index) {
      for (let at = index; at < tokens.length; at += 1) {
        if (tokens[at].type === tt.string) return at;
        if (text(at) === ';') break;
      }
      return undefined;
    },
    /** The last token of the statement whose module is named at `index`, its attributes and semicolon with it. */
    last(index) {
      let at = index;
      if (['with', 'assert'].includes(text(at + 1)) && text(at + 2) === '{') {
        while (at < tokens.length && text(at) !== '}') at += 1;
      }
      return text(at + 1) === ';' ? at + 1 : at;
    },
  };
}

function importEdit(walk, index, isTypeScript) {
  const next = walk.text(index + 1);
  if (next === '(') return { start: walk.start(index), end: walk.end(index), text: '__hotcellImport' };
  if (next === '.') {
    return walk.text(index + 2) === 'meta' && walk.text(index - 1) !== '.'
      ? { start: walk.start(index), end: walk.end(index + 2), text: '__hotcellMeta' }
      : undefined;
  }
  const source = walk.source(index + 1);
  if (source === undefined) return undefined;
  const last = walk.last(source);
  const attributes = walk.text(source + 1) === '' || last <= source + 1 ? undefined : attributesOf(walk, source, last);
  const { bindings, namespace, names } = clauseOf(walk, index + 1, source);
  const wanted = names.length === 0 || isTypeScript ? '' : `, ${JSON.stringify(names)}`;
  const options = attributes ?? (wanted === '' ? '' : ', undefined');
  const imported = `await __hotcellImport(${walk.text(source)}${options}${wanted})`;
  const parts = [];
  if (namespace !== undefined) parts.push(`${namespace} = ${imported}`);
  if (bindings.length > 0) parts.push(`{ ${bindings.join(', ')} } = ${namespace ?? imported}`);
  const text = parts.length === 0 ? `${imported};` : `const ${parts.join(', ')};`;
  return { start: walk.start(index), end: walk.end(last), text };
}

function attributesOf(walk, source, last) {
  const end = walk.text(last) === ';' ? last - 1 : last;
  const word = process.versions.node.startsWith('18.') ? 'assert' : 'with';
  let text = '';
  for (let at = source + 2; at <= end; at += 1) text += walk.text(at);
  return `, { ${word}: ${text} }`;
}

/** `d, { a as b }` or `d, * as ns`: what is bound to what. */
function clauseOf(walk, first, source) {
  const clause = { bindings: [], namespace: undefined, names: [] };
  const bind = (name, local) => {
    clause.bindings.push(name === local ? name : `${name}: ${local}`);
    clause.names.push(/^['"]/.test(name) ? name.slice(1, -1) : name);
  };
  for (let at = first; at < source && walk.text(at) !== 'from'; ) {
    const word = walk.text(at);
    if (word === '*') {
      clause.namespace = walk.text(at + 2);
      at += 3;
    } else if (word === '{') {
      at += 1;
      while (walk.text(at) !== '}') {
        const renamed = walk.text(at + 1) === 'as';
        bind(walk.text(at), walk.text(renamed ? at + 2 : at));
        at += renamed ? 3 : 1;
        if (walk.text(at) === ',') at += 1;
      }
      at += 1;
    } else {
      if (word !== ',') bind('default', word);
      at += 1;
    }
  }
  return clause;
}

/** A session exports to nobody: what is declared stays declared. */
function exportEdits(walk, index) {
  const next = walk.text(index + 1);
  if (next === 'default') {
    const declares = ['function', 'class', 'async'].includes(walk.text(index + 2));
    const isNamed = declares && /^[\w$]+$/.test(walk.text(index + (walk.text(index + 2) === 'async' ? 4 : 3)));
    const text = isNamed && walk.text(index + 3) !== 'extends' ? '' : 'exports.default =';
    return [{ start: walk.start(index), end: walk.end(index + 1), text }];
  }
  if (next === '*' || next === '{') {
    const close = next === '{' ? closing(walk, index + 1) : index + 1;
    const reexports = next === '*' || walk.text(close + 1) === 'from';
    if (!reexports) return [{ start: walk.start(index), end: walk.end(close), text: '' }];
    const source = walk.source(close + 1);
    if (source === undefined) return [];
    const text = `await __hotcellImport(${walk.text(source)});`;
    return [{ start: walk.start(index), end: walk.end(walk.last(source)), text }];
  }
  return [{ start: walk.start(index), end: walk.end(index), text: '' }];
}

function closing(walk, open) {
  let at = open;
  while (walk.text(at) !== '}' && walk.text(at) !== '') at += 1;
  return at;
}

/** Each edit keeps the line breaks of what it replaces, and blanks where it leaves nothing. */
function applied(code, edits) {
  let made = '';
  let from = 0;
  for (const { start, end, text } of edits) {
    const replaced = code.slice(start, end);
    const breaks = replaced.replaceAll(/[^\n]/g, '');
    made += code.slice(from, start) + (text === '' ? replaced.replaceAll(/[^\n]/g, ' ') : text + breaks);
    from = end;
  }
  return made + code.slice(from);
}
